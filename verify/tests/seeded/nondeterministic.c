/* expect: nondeterministic
 * The client decides by something that is neither its own nor the checker's: here, by numbers that the C library
 * remembers.
 */
#include "verify/clients/client.h"

static _Atomic(int) first, second;

static void *writer(void *unused) {
    atomic_store_explicit(&first, 1, memory_order_relaxed);
    atomic_store_explicit(&second, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t a = start(writer, NULL);
#ifdef CORRECTED
    bool coin = checker_choose(2);
#else
    bool coin = rand() % 2;
#endif
    for (int i = 0; i < 3; i++) atomic_load_explicit(coin ? &first : &second, memory_order_relaxed);
    finish(a);
    return 0;
}
