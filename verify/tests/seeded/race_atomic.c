/* expect: race
 * What others load atomically is set by a plain store.
 */
#include "verify/clients/client.h"

static _Atomic(int) state;

static void *setter(void *unused) {
#ifdef CORRECTED
    atomic_store_explicit(&state, 2, memory_order_relaxed);
#else
    *(int *)&state = 2;
#endif
    return unused;
}

static void *reader(void *unused) {
    assert(atomic_load_explicit(&state, memory_order_relaxed) != 1);
    return unused;
}

int main(void) {
    pthread_t a = start(setter, NULL), b = start(reader, NULL);
    finish(a);
    finish(b);
    return 0;
}
