/* expect: assertion
 * The flag is stored before what it stands for is visible.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { PUBLISH = memory_order_release };
#else
enum { PUBLISH = memory_order_relaxed };
#endif

static _Atomic(int) data, flag;

static void *writer(void *unused) {
    atomic_store_explicit(&data, 42, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, PUBLISH);
    return unused;
}

static void *reader(void *unused) {
    if (atomic_load_explicit(&flag, memory_order_acquire))
        assert(atomic_load_explicit(&data, memory_order_relaxed) == 42);
    return unused;
}

int main(void) {
    pthread_t a = start(writer, NULL), b = start(reader, NULL);
    finish(a);
    finish(b);
    return 0;
}
