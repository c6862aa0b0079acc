/* large_walk - a walk over a root finds the slab that takes the end of a large object which has just become smaller.
 *
 * bound     2 threads: 1 cut of an object that begins its range | 1 slab from what was cut off, 1 walk
 * property  the walk does not pass over the slab
 * defines   -DJW_RANGE_TRIES=2
 */
#include "verify/clients/ranges.h"

static char *object;

static void *cutting(void *unused) {
    (void)unused;
    bool cut = large_shrink(object, GRANULE_SIZE + 1);
    assert(cut && large_usable_size(object) == 2 * GRANULE_SIZE);
    return NULL;
}

static void *walking(void *unused) {
    (void)unused;
    granule_id slab = range_acquire(FOR_SMALL_SLABS, MAPPED, 1);
    if (!slab) return NULL;
    leaf_set(slab, leaf_slab(1));
    granule_id id = root_of(slab);
    while (id < slab) id += granules_to_next(id, leaf_get(id));
    assert(id == slab);
    leaf_set(slab, leaf_held());
    range_place(slab, MAPPED);
    return NULL;
}

int main(void) {
    bool zeroed;
    begin();
    object = large_allocate(4 * GRANULE_SIZE, 1, &zeroed);
    assert(object);
    pthread_t a = start(cutting, NULL), b = start(walking, NULL);
    finish(a);
    finish(b);
    large_free(object);
    end();
    return 0;
}
