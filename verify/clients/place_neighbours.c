/* place_neighbours - two threads free neighbours at once: Knit refuses one release, that range comes out of its Nest
 * again and joins.
 *
 * bound     2 threads, 1 range each; 2 tries
 * property  one free range is left, the whole root
 * defines   -DJW_RANGE_TRIES=2
 */
#include "verify/clients/ranges.h"

static granule_id left, right;

static void *freeing(void *range) {
    place(*(granule_id *)range, MAPPED);
    return NULL;
}

int main(void) {
    begin();
    left = fetch(4);
    right = fetch(4);
    pthread_t a = start(freeing, &left), b = start(freeing, &right);
    finish(a);
    finish(b);
    assert(free_granules(MAPPED) == ROOT_GRANULES && ownership.deferrals == 0);
    granule_id root = range_acquire(FOR_SMALL_SLABS, MAPPED, ROOT_GRANULES);
    assert(root == ROOT_GRANULES && knit_is_root(root));
    range_place(root, UNMAPPED);
    end();
    return 0;
}
