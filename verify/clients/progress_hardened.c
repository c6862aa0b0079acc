/* progress_hardened - the hardened build: a thread allocates small objects, frees them into its quarantine, ends,
 * and runs a purge. It may stop for good at any of its steps, such as with a region's slab in its hands. Then another
 * thread does the same.
 *
 * bound     2 threads: 1 free, 2 allocations and 2 frees, the thread's end, 1 purge; then the same by main, and 1 look
 *           for memory in all regions; 2 objects may wait in a quarantine
 * property  no operation waits for another thread: each ends, whatever step the other has stopped at; every object is
 *           its holder's alone, and no free of one is taken for misuse
 * defines   -DJW_SECURE=1 -DJW_ZERO_SIZE_OBJECTS=32
 */
#include "verify/clients/hardened.h"

static void *mine, *others;

static void use(void *given, uint64_t value) {
    release(given, SIZE, value);
    for (uint64_t more = 1; more < 3; more++) release(filled(jw_malloc(SIZE), SIZE, value + more), SIZE, value + more);
    model_thread_exit();
}

static void *stopping(void *unused) {
    (void)unused;
    checker_may_stop(true);
    use(others, 10);
    thrift_purge();
    return NULL;
}

int main(void) {
    begin_hardened(2 * SLOT, 0);
    mine = filled(jw_malloc(SIZE), SIZE, 20);
    others = filled(jw_malloc(SIZE), SIZE, 10);
    finish(start(stopping, NULL));
    use(mine, 20);
    thrift_purge();
    regions_give_up();
    return 0;
}
