/* regions_open - in the hardened build the range of a small large object waits open, zero, with its guard, for the next
 * one of its weight. Meanwhile a round takes its pages and closes it.
 *
 * bound     2 threads: 1 fetch with its guard, and 1 place of what it got; 1 round that gives all back; the OS may
 *           refuse 1 call; before, 1 is placed
 * defines   -DJW_SECURE=1
 * few       the threads meet in the region's stacks: the range is in one of them, or in none
 * property  a range has one holder, and is zero; neither a range nor a byte of the counts is lost
 */
#include "backend/range_fetch.h"
#include "verify/clients/regions.h"

static void place_open(granule_id range) {
    disown(range);
    for (granule_id i = 0; i < 2; i++) *(uint64_t *)granule_address(range + i) = 0;
    region_place_large(range, true, false);
}

static void *working(void *unused) {
    (void)unused;
    bool empty;
    granule_id range = region_fetch_guarded(2, &empty);
    if (!range) return NULL;
    expect(granule_address(range), GRANULE_SIZE, 0);
    place_open(own(range));
    return NULL;
}

static void *rounding(void *unused) {
    (void)unused;
    thrift_purge();
    return NULL;
}

int main(void) {
    begin_regions(0);
    bool zeroed;
    granule_id range = own(range_fetch(FOR_OTHER_RANGES, 2, FETCH_WITH_ROOT, &zeroed));
    assert(range && guard_begin());
    place_open(range);
    atomic_store_explicit(&model_faults_left, 1, memory_order_relaxed);
    pthread_t a = start(working, NULL), b = start(rounding, NULL);
    finish(a);
    finish(b);
    atomic_store_explicit(&model_faults_left, 0, memory_order_relaxed);
    end_regions();
    return 0;
}
