/* regions_large - in the hardened build the range of a freed large object serves the next one of its weight.
 * Meanwhile another thread finds no memory and gives up what waits.
 *
 * bound     2 threads: 2 granules are placed; 1 giving up; before, 3 are placed, and 2 twice fetched and placed
 * defines   -DJW_SECURE=1
 * few       the threads meet in one word, the region's stack: the range is there already, or not yet
 * property  a range has one holder and the weight that was asked for, and is zero if the region says so; neither a
 *           range nor a byte of the counts is lost, and no guard is taken off
 */
#include "backend/range_fetch.h"
#include "verify/clients/regions.h"

/* As a large object: from the region, or else from the backend. */
static granule_id fetch_large(uint32_t weight) {
    bool zeroed;
    granule_id range = region_fetch_large(weight, &zeroed);
    if (!range) range = range_fetch(FOR_OTHER_RANGES, weight, FETCH_WITH_ROOT, &zeroed);
    assert(range && knit_weight(range) == weight);
    if (zeroed) expect(granule_address(range), GRANULE_SIZE, 0);
    return own(range);
}

/* What has pages is not zero. */
static void place_large(granule_id range, bool empty) {
    disown(range);
    if (empty) platform_discard(granule_address(range), (size_t)knit_weight(range) << JW_GRANULE_SHIFT);
    region_place_large(range, false, empty);
}

static void *placing(void *range) {
    place_large(*(granule_id *)range, false);
    return NULL;
}

int main(void) {
    begin_regions(0);
    granule_id two = fetch_large(2), three = fetch_large(3);
    place_large(two, true);
    assert(fetch_large(2) == two);
    place_large(two, false);
    assert(fetch_large(2) == two);
    place_large(three, true);
    give_up_beside(placing, two);
    return 0;
}
