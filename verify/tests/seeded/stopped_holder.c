/* expect: deadlock
 * A mutex, whose holder may stop for good. The corrected twin stops only where it has not got the mutex.
 */
#include "verify/clients/client.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(int) before;

static void *stopping(void *unused) {
    checker_may_stop(1);
    atomic_store_explicit(&before, 1, memory_order_relaxed);
#ifdef CORRECTED
    checker_may_stop(0);
#endif
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t a = start(stopping, NULL);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    finish(a);
    return 0;
}
