/* expect: leak
 * What a thread keeps for itself is freed by nobody, unless its key has a destructor.
 */
#include "verify/clients/client.h"

static pthread_key_t key;
static _Atomic(int) ends;

static void end(void *kept) {
    free(kept);
    atomic_fetch_add_explicit(&ends, 1, memory_order_relaxed);
}

static void *keeper(void *unused) {
    pthread_setspecific(key, calloc(1, 8));
    assert(pthread_getspecific(key));
    return unused;
}

int main(void) {
#ifdef CORRECTED
    pthread_key_create(&key, end);
#else
    pthread_key_create(&key, NULL);
    (void)end;
#endif
    pthread_t a = start(keeper, NULL), b = start(keeper, NULL);
    finish(a);
    finish(b);
    assert(!pthread_getspecific(key) && atomic_load_explicit(&ends, memory_order_relaxed) % 2 == 0);
    return 0;
}
