/* expect: deadlock
 * Two locks, taken in both orders.
 */
#include "verify/clients/client.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *forwards(void *unused) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return unused;
}

static void *backwards(void *unused) {
#ifdef CORRECTED
    return forwards(unused);
#else
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return unused;
#endif
}

int main(void) {
    pthread_t a = start(forwards, NULL), b = start(backwards, NULL);
    finish(a);
    finish(b);
    return 0;
}
