/* progress_whole - the whole allocator: a thread does one thing after the other, and may stop for good at any of its
 * steps: in malloc or free of each tier, in a round, at its end. Then another thread does each of these things.
 *
 * bound     2 threads: 1 object of each tier freed, 1 allocated and freed, the thread's end, and 1 purge; then the same
 *           by main, and 1 thread more
 * property  no operation waits for another thread: each ends, whatever step the other has stopped at; every object is
 *           its holder's alone
 * defines   -DMODEL_ROOTS=16
 */
#include "verify/clients/whole.h"

enum { TIERS = 4 };

static const size_t sizes[TIERS] = {112, 128, 4 * GRANULE_SIZE, BACKEND_MAX + GRANULE_SIZE};
static void *mine[TIERS], *others[TIERS];

static void use_all(void *given[TIERS], uint64_t value) {
    for (unsigned i = 0; i < TIERS; i++) release(given[i], sizes[i], i);
    for (unsigned i = 0; i < TIERS; i++) {
        void *object = filled(jw_malloc(sizes[i]), sizes[i], value);
        release(object, sizes[i], value);
    }
}

static void *stopping(void *unused) {
    (void)unused;
    checker_may_stop(true);
    use_all(others, 10);
    if (checker_choose(2)) thrift_purge();
    else model_thread_exit();
    return NULL;
}

static void *last(void *unused) {
    (void)unused;
    release(filled(jw_malloc(sizes[0]), sizes[0], 30), sizes[0], 30);
    model_thread_exit();
    return NULL;
}

int main(void) {
    begin();
    for (unsigned i = 0; i < TIERS; i++) {
        mine[i] = filled(jw_malloc(sizes[i]), sizes[i], i);
        others[i] = filled(jw_malloc(sizes[i]), sizes[i], i);
    }
    finish(start(stopping, NULL));
    use_all(mine, 20);
    finish(start(last, NULL));
    thrift_purge();
    return 0;
}
