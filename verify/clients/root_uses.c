/* root_uses - with the first root full, a range is fetched while another one of the second root is freed; then a slab
 * is wanted.
 *
 * bound     2 threads, 1 free and 1 fetch; 1 slot, 1 try
 * property  no slab is where the ranges are; what is free waits among ranges of roots of the same use
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/ranges.h"

static granule_id freed, got;

static void *freeing(void *unused) {
    (void)unused;
    place(freed, MAPPED);
    return NULL;
}

static void *fetching(void *unused) {
    (void)unused;
    got = fetch_for(FOR_OTHER_RANGES, 4);
    return NULL;
}

static void look(granule_id root, void *unused) {
    (void)unused;
    for (granule_id id = root; id < root + ROOT_GRANULES; id++)
        if (leaf_kind(leaf_get(id)) == FREE) assert(leaf_nest(leaf_get(id)) / NESTS_OF_USE == root_use(root));
}

int main(void) {
    begin();
    granule_id first = fetch_for(FOR_OTHER_RANGES, ROOT_GRANULES); /* before there is another, the root is for all */
    assert(root_use(first) == FOR_SMALL_SLABS);
    freed = fetch_for(FOR_OTHER_RANGES, 4);
    pthread_t a = start(freeing, NULL), b = start(fetching, NULL);
    finish(a);
    finish(b);
    assert(root_use(got) == FOR_OTHER_RANGES);
    while (range_place_deferred()) continue;
    page_map_walk(look, NULL);
    place(first, MAPPED);
    granule_id slab = fetch_for(FOR_SMALL_SLABS, 1);
    assert(root_use(slab) == FOR_SMALL_SLABS);
    place(slab, MAPPED);
    place(got, MAPPED);
    end();
    return 0;
}
