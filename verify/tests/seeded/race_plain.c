/* expect: race
 * Two threads count without a lock.
 */
#include "verify/clients/client.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *counter(void *unused) {
#ifdef CORRECTED
    pthread_mutex_lock(&mutex);
#endif
    count++;
#ifdef CORRECTED
    pthread_mutex_unlock(&mutex);
#endif
    return unused;
}

int main(void) {
    pthread_t a = start(counter, NULL), b = start(counter, NULL);
    finish(a);
    finish(b);
    assert(pthread_mutex_trylock(&mutex) == 0 && count == 2);
    return 0;
}
