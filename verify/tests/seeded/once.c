/* expect: race
 * Initialisation on first use: double-checked without acquire, or by pthread_once.
 */
#include "verify/clients/client.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(int) ready;
static int table[2], initialised;

static void initialise(void) {
    table[1] = 5;
    initialised++;
}

static void ensure(void) {
#ifdef CORRECTED
    pthread_once(&once, initialise);
#else
    (void)once;
    if (atomic_load_explicit(&ready, memory_order_relaxed)) return;
    pthread_mutex_lock(&mutex);
    if (!atomic_load_explicit(&ready, memory_order_relaxed)) initialise();
    atomic_store_explicit(&ready, 1, memory_order_release);
    pthread_mutex_unlock(&mutex);
#endif
}

static void *user(void *unused) {
    ensure();
    assert(table[1] == 5 && initialised == 1);
    return unused;
}

int main(void) {
    pthread_t a = start(user, NULL), b = start(user, NULL);
    finish(a);
    finish(b);
    assert(pthread_mutex_trylock(&mutex) == 0);
    return 0;
}
