/* expect: endless
 * A loop that neither yields nor, in one interleaving, ends.
 */
#include "verify/clients/client.h"
#include <sched.h>

static _Atomic(int) flag, busy;

static void *waiter(void *unused) {
    atomic_store_explicit(&busy, 1, memory_order_relaxed);
    while (!atomic_load_explicit(&flag, memory_order_acquire)) {
#ifdef CORRECTED
        sched_yield();
#endif
    }
    return unused;
}

int main(void) {
    pthread_t a = start(waiter, NULL);
    bool seen = atomic_load_explicit(&busy, memory_order_relaxed);
#ifdef CORRECTED
    seen = true;
#endif
    if (seen) atomic_store_explicit(&flag, 1, memory_order_release);
    finish(a);
    return 0;
}
