/* expect: livelock
 * A spin lock: a thread that stops while it has the lock keeps the others from going on.
 */
#include "verify/clients/client.h"
#include <sched.h>

static _Atomic(int) lock;
static int guarded;

static bool try_lock(void) {
    int unlocked = 0;
    return atomic_compare_exchange_strong_explicit(&lock, &unlocked, 1, memory_order_acquire, memory_order_relaxed);
}

static void count(void) {
#ifdef CORRECTED
    if (!try_lock()) return;
#else
    while (!try_lock()) sched_yield();
#endif
    guarded++;
    atomic_store_explicit(&lock, 0, memory_order_release);
}

static void *stopping(void *unused) {
    checker_may_stop(1);
    count();
    return unused;
}

int main(void) {
    pthread_t a = start(stopping, NULL);
    count();
    finish(a);
    return 0;
}
