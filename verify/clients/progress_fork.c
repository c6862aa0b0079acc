/* progress_fork - a thread allocates and frees in each tier, ends, or runs a purge, and may stop for good at any of its
 * steps. Then main forks: what follows is the child, which has only the forking thread, and finds all words and locks
 * as they were. It frees what its parent has allocated, and allocates.
 *
 * bound     2 threads: 1 object of each tier freed, 1 allocated and freed, then the thread's end or 1 purge; then a
 *           fork by main, the same in the child, and 1 purge; with a fresh heap in the child or without; 2 tries to
 *           lock a list
 * property  no operation of the child waits for a thread that it has not got; every object is its holder's alone
 * defines   -DMODEL_ROOTS=16 -DJW_FORK_TRIES=2
 */
#include "config/options.h"
#include "frontend/heap_fork.h"
#include "frontend/remote_reclaim.h"
#include "midend/midend.h"
#include "verify/clients/whole.h"

enum { TIERS = 4 };

static const size_t sizes[TIERS] = {112, 128, 4 * GRANULE_SIZE, BACKEND_MAX + GRANULE_SIZE};
static void *mine[TIERS], *others[TIERS];

static void use(void *given, unsigned tier, uint64_t value) {
    release(given, sizes[tier], tier);
    release(filled(jw_malloc(sizes[tier]), sizes[tier], value), sizes[tier], value);
}

static void *stopping(void *unused) {
    (void)unused;
    checker_may_stop(true);
    for (unsigned i = 0; i < TIERS; i++) use(others[i], i, 10);
    if (checker_choose(2)) thrift_purge();
    else model_thread_exit();
    return NULL;
}

/* As core/fork.c. */
static void fork_into_child(void) {
    heap_before_fork();
    backend_before_fork();
    midend_before_fork();
    midend_after_fork(true);
    backend_after_fork(true);
    remote_reclaim_after_fork();
    heap_after_fork(true);
}

int main(void) {
    begin();
    options.fresh_after_fork = checker_choose(2);
    for (unsigned i = 0; i < TIERS; i++) {
        mine[i] = filled(jw_malloc(sizes[i]), sizes[i], i);
        others[i] = filled(jw_malloc(sizes[i]), sizes[i], i);
    }
    finish(start(stopping, NULL));
    fork_into_child();
    for (unsigned i = 0; i < TIERS; i++) use(mine[i], i, 20);
    thrift_purge();
    return 0;
}
