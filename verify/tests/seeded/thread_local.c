/* expect: race
 * Each thread has its own cache, unless it hands out a pointer to it.
 */
#include "verify/clients/client.h"

static _Thread_local int cache = 7;
static _Atomic(int *) shared;

static void *user(void *unused) {
    assert(cache == 7);
    int *other = atomic_exchange_explicit(&shared, &cache, memory_order_relaxed);
    assert(other != &cache);
#ifndef CORRECTED
    if (other) *other = 7;
#endif
    cache++;
    return unused;
}

int main(void) {
    pthread_t a = start(user, NULL), b = start(user, NULL);
    finish(a);
    finish(b);
    assert(cache == 7);
    return 0;
}
