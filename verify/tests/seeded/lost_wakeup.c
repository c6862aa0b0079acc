/* expect: livelock
 * The signal may come before anybody waits for it, and is lost unless the waiter looks first. (Sleeping on a
 * condition is spinning on it to the checker.)
 */
#include "verify/clients/client.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool ready;

static void *waiter(void *unused) {
    pthread_mutex_lock(&mutex);
#ifdef CORRECTED
    while (!ready)
#endif
        pthread_cond_wait(&condition, &mutex);
    assert(ready);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t a = start(waiter, NULL);
    pthread_mutex_lock(&mutex);
    ready = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    finish(a);
    return 0;
}
