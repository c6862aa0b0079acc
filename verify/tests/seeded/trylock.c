/* expect: race
 * A lock that may only be tried, and a thread that does not look at whether it got it.
 */
#include "verify/clients/client.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int guarded;

static void *user(void *unused) {
    int status = pthread_mutex_trylock(&mutex);
#ifdef CORRECTED
    if (status) return NULL;
#endif
    guarded++;
    if (!status) pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t a = start(user, NULL), b = start(user, NULL);
    finish(a);
    finish(b);
    assert(guarded >= 1);
    return 0;
}
