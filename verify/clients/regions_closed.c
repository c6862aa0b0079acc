/* regions_closed - in the hardened build the range of a freed large object waits closed, with its guard, for the next
 * one of its weight. Meanwhile another thread finds no memory and gives up what waits.
 *
 * bound     2 threads: 1 fetch with its guard, and 1 place of what it got; 1 giving up; the OS may refuse 1 call;
 *           before, 1 is placed, fetched and placed
 * defines   -DJW_SECURE=1
 * few       the threads meet in one word, the region's stack: the range is there already, or not yet
 * property  a range has one holder, and is zero if the region says so; neither a range nor a byte of the counts is
 *           lost, and a guard is taken off the count once
 */
#include "backend/range_fetch.h"
#include "verify/clients/regions.h"

static granule_id fetch_guarded(void) {
    bool empty;
    granule_id range = region_fetch_guarded(2, &empty);
    if (range && empty) expect(granule_address(range), GRANULE_SIZE, 0);
    return own(range);
}

static void place_closed(granule_id range) {
    disown(range);
    platform_discard(granule_address(range), (size_t)knit_weight(range) << JW_GRANULE_SHIFT);
    region_place_large(range, true, true);
}

static void *working(void *unused) {
    (void)unused;
    granule_id range = fetch_guarded();
    if (range) place_closed(range);
    return NULL;
}

/* Of two guards and any that were lost, half may be there after a refusal: one, so that none was lost. */
static void none_is_counted(void) {
    assert(guard_begin() && guard_begin());
    guard_refused();
    guard_end();
    guard_end();
    assert(guard_begin());
}

int main(void) {
    begin_regions(0);
    bool zeroed;
    granule_id range = own(range_fetch(FOR_OTHER_RANGES, 2, FETCH_WITH_ROOT, &zeroed));
    assert(range && guard_begin());
    place_closed(range);
    assert(fetch_guarded() == range);
    place_closed(range);
    atomic_store_explicit(&model_faults_left, 1, memory_order_relaxed);
    pthread_t other = start(working, NULL);
    regions_give_up();
    finish(other);
    atomic_store_explicit(&model_faults_left, 0, memory_order_relaxed);
    end_regions();
    none_is_counted();
    return 0;
}
