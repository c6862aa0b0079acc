/* expect: livelock
 * The reader yields until a flag is set, which in one interleaving nobody does.
 */
#include "verify/clients/client.h"
#include <sched.h>

static _Atomic(int) flag, busy;

static void *waiter(void *unused) {
    atomic_store_explicit(&busy, 1, memory_order_relaxed);
    while (!atomic_load_explicit(&flag, memory_order_acquire)) sched_yield();
    return unused;
}

int main(void) {
    pthread_t a = start(waiter, NULL);
#ifdef CORRECTED
    bool seen = true;
#else
    bool seen = atomic_load_explicit(&busy, memory_order_relaxed);
#endif
    if (seen) atomic_store_explicit(&flag, 1, memory_order_release);
    finish(a);
    return 0;
}
