/* expect: mixed-size
 * One thread counts in half of the word that another one counts in.
 */
#include "verify/clients/client.h"

static _Atomic(uint32_t) word;

static void *half(void *unused) {
#ifdef CORRECTED
    atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
#else
    atomic_fetch_add_explicit((_Atomic(uint16_t) *)&word, 1, memory_order_relaxed);
#endif
    return unused;
}

int main(void) {
    pthread_t a = start(half, NULL);
    atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
    finish(a);
    return 0;
}
