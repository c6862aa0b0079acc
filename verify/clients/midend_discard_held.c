/* midend_discard_held - a thread holds a slab some of whose pages a round gives back, or has given back.
 *
 * bound     2 threads: 1 round that gives all back; 1 allocation and 2 frees by a holder, which leaves the slab; a slab
 *           of 4 objects, of which 1 is in use; no other memory
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  pages are given back only of objects that no thread has; what the holder leaves empty is found again
 */
#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];
static void *objects[OBJECTS];

static void *reclaiming(void *unused) {
    (void)unused;
    midend_round(true);
    return NULL;
}

static void *holding(void *unused) {
    (void)unused;
    void *object = midend_allocate(mid_caches, SIZE, 1); /* NULL: the round has the slab */
    if (object) fill(object, SIZE, 2);
    if (object) give_held(mid_caches, object, 2);
    give_held(mid_caches, objects[3], 1);
    midend_drain(mid_caches);
    return NULL;
}

int main(void) {
    begin();
    take_slab(objects, 1);
    void *rest = take_rest();
    for (unsigned i = 0; i < 3; i++) give(objects[i], 1);
    pthread_t a = start(reclaiming, NULL), b = start(holding, NULL);
    finish(a);
    finish(b);
    large_free(rest);
    expect_nothing_left();
    return 0;
}
