/* expect: uninitialised
 * The publisher fills one field too few.
 */
#include "verify/clients/client.h"

struct pair {
    int first, second;
};

static _Atomic(struct pair *) shared;

static void *publisher(void *unused) {
    struct pair *pair = malloc(sizeof *pair);
    pair->first = 1;
#ifdef CORRECTED
    pair->second = 2;
#endif
    atomic_store_explicit(&shared, pair, memory_order_release);
    return unused;
}

int main(void) {
    pthread_t a = start(publisher, NULL);
    struct pair *pair = atomic_load_explicit(&shared, memory_order_acquire);
    if (pair) assert(pair->first + pair->second == 3);
    finish(a);
    free(atomic_load_explicit(&shared, memory_order_relaxed));
    return 0;
}
