/* deferred_list - two threads defer ranges, whose Nest is busy, while a third places what is deferred.
 *
 * bound     3 threads, 2 pushes and 1 drain; the Nest's lists are locked, as around a fork, and the only slot is taken
 * property  no deferred range is lost, and each is placed in the state that it was deferred in
 * defines   -DJW_NEST_SLOTS=1
 */
#include "verify/clients/ranges.h"

static granule_id ranges[4];

static void *freeing(void *range) {
    place(*(granule_id *)range, UNMAPPED);
    return NULL;
}

static void *draining(void *unused) {
    (void)unused;
    range_place_deferred();
    return NULL;
}

int main(void) {
    begin();
    for (unsigned i = 0; i < 4; i++) ranges[i] = fetch(2);
    place(ranges[0], UNMAPPED);
    uint64_t locked = nest_lock_all(&ownership.nests[UNMAPPED_NEST]);
    pthread_t a = start(freeing, &ranges[2]), b = start(freeing, &ranges[3]), c = start(draining, NULL);
    finish(a);
    finish(b);
    finish(c);
    nest_unlock_all(&ownership.nests[UNMAPPED_NEST], locked);
    range_place_deferred();
    assert(free_granules(UNMAPPED) == 6 && free_granules(MAPPED) == 0);
    place(ranges[1], UNMAPPED);
    end();
    return 0;
}
