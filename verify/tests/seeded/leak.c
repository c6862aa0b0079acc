/* expect: leak
 * The thread that loses the compare-and-swap forgets the block that it came with.
 */
#include "verify/clients/client.h"

static _Atomic(int *) shared;

static void *offer(void *unused) {
    int *block = malloc(sizeof *block), *none = NULL;
    bool won =
        atomic_compare_exchange_strong_explicit(&shared, &none, block, memory_order_release, memory_order_relaxed);
#ifdef CORRECTED
    if (!won) free(block);
#endif
    (void)won;
    return unused;
}

int main(void) {
    pthread_t a = start(offer, NULL), b = start(offer, NULL);
    finish(a);
    finish(b);
    free(atomic_load_explicit(&shared, memory_order_relaxed));
    return 0;
}
