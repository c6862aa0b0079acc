/* expect: unmapped
 * The owner unmaps a page that a reader may still hold.
 */
#include "verify/clients/client.h"

static _Alignas(64) char page[64];
static _Atomic(char *) shared = page;

static void *reader(void *unused) {
#ifdef CORRECTED
    char *found = atomic_exchange_explicit(&shared, NULL, memory_order_acq_rel);
#else
    char *found = atomic_load_explicit(&shared, memory_order_acquire);
#endif
    if (found) assert(found[5] == 0);
    return unused;
}

int main(void) {
    pthread_t a = start(reader, NULL);
    if (atomic_exchange_explicit(&shared, NULL, memory_order_acq_rel)) checker_forbid(page, sizeof page);
    finish(a);
    checker_allow(page, sizeof page, 1);
    assert(page[5] == 0);
    return 0;
}
