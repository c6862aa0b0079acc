/* expect: endless
 * An operation in two steps, and another that repeats until the second one has been done. It does not yield.
 */
#include "verify/clients/client.h"

static _Atomic(int) begun, ended;

static void *stopping(void *unused) {
    checker_may_stop(1);
    atomic_store_explicit(&begun, 1, memory_order_relaxed);
    atomic_store_explicit(&ended, 1, memory_order_release);
    return unused;
}

int main(void) {
    pthread_t a = start(stopping, NULL);
    if (atomic_load_explicit(&begun, memory_order_relaxed)) {
#ifndef CORRECTED
        while (!atomic_load_explicit(&ended, memory_order_acquire)) continue;
#endif
    }
    finish(a);
    return 0;
}
