/* expect: wild-access
 * A pointer whose tag is still in it, followed in one interleaving only.
 */
#include "verify/clients/client.h"

static int target = 1;
static _Atomic(uintptr_t) shared;

static void *tagger(void *unused) {
    atomic_fetch_or_explicit(&shared, (uintptr_t)1 << 46, memory_order_relaxed);
    return unused;
}

int main(void) {
    atomic_store_explicit(&shared, (uintptr_t)&target, memory_order_relaxed);
    pthread_t a = start(tagger, NULL);
    uintptr_t word = atomic_load_explicit(&shared, memory_order_relaxed);
#ifdef CORRECTED
    word &= ~((uintptr_t)1 << 46);
#endif
    assert(*(int *)word == 1);
    finish(a);
    return 0;
}
