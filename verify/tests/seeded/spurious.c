/* expect: assertion
 * options: --spurious 1
 * compilers: gcc
 * A weak compare-and-swap fails although nobody interferes. Clang's objects cannot tell weak from strong.
 */
#include "verify/clients/client.h"

static _Atomic(int) lock;

int main(void) {
    int expected = 0;
#ifdef CORRECTED
    while (!atomic_compare_exchange_weak_explicit(&lock, &expected, 1, memory_order_acquire, memory_order_relaxed))
        expected = 0;
#else
    atomic_compare_exchange_weak_explicit(&lock, &expected, 1, memory_order_acquire, memory_order_relaxed);
#endif
    assert(atomic_load_explicit(&lock, memory_order_relaxed) == 1);
    return 0;
}
