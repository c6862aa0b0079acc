/* expect: double-free
 * Both threads find the block, and both free it.
 */
#include "verify/clients/client.h"

static _Atomic(char *) shared;

static void *taker(void *unused) {
#ifdef CORRECTED
    char *block = atomic_exchange_explicit(&shared, NULL, memory_order_acq_rel);
#else
    char *block = atomic_load_explicit(&shared, memory_order_acquire);
    atomic_store_explicit(&shared, NULL, memory_order_release);
#endif
    free(block);
    return unused;
}

int main(void) {
    atomic_store_explicit(&shared, malloc(8), memory_order_release);
    pthread_t a = start(taker, NULL), b = start(taker, NULL);
    finish(a);
    finish(b);
    return 0;
}
