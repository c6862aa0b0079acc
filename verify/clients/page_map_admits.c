/* page_map_admits - a root that the records do not cover has two free halves. Two threads want a slab in one each: the
 * first one doubles the records, the other one may only see that it has.
 *
 * bound     2 threads: 2 slabs admitted, 1 look-up each; records for 2 slots at first, for 4 in the end
 * property  a slab's address leads to its own record
 * defines   -DJW_FIRST_WINDOW_SHIFT=12 -DJW_WINDOW_SHIFT=14 -DMODEL_ROOTS=8 -DMODEL_REGION=32768
 */
#include "verify/clients/ranges.h"

static void *admitting(void *range) {
    granule_id slab = *(granule_id *)range;
    bool admitted = root_admits_slabs(slab);
    assert(admitted && record_of(granule_address(slab)) == record_at(slab));
    *(uint64_t *)record_at(slab) = slab;
    return NULL;
}

int main(void) {
    begin();
    model_waits_end = true;
    granule_id first = root_create(FOR_SMALL_SLABS), left = root_create(FOR_OTHER_RANGES);
    assert(first && left && record_of(granule_address(left)) != record_at(left));
    granule_id right = knit_split(left, ROOT_GRANULES / 2);
    leaf_set(right, leaf_held());
    pthread_t a = start(admitting, &left), b = start(admitting, &right);
    finish(a);
    finish(b);
    assert(*(uint64_t *)record_at(left) == left && *(uint64_t *)record_of(granule_address(right)) == right);
    range_place(left, UNMAPPED);
    range_place(right, UNMAPPED);
    range_place(first, UNMAPPED);
    end();
    return 0;
}
