/* mid_cache_full - another thread frees an object of a held slab, all of whose objects are in use. Meanwhile the holder
 * leaves the slab and allocates without holding.
 *
 * bound     2 threads, 1 free; letting go and 1 allocation; a slab of 4 objects
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  the slab is in the Nest while it has a free object, and only then
 */
#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];
static void *objects[OBJECTS], *taken;

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0], 1);
    return NULL;
}

static void *letting_go(void *unused) {
    (void)unused;
    midend_drain(mid_caches);
    taken = take(2);
    return NULL;
}

int main(void) {
    begin();
    for (unsigned i = 0; i < OBJECTS; i++) objects[i] = take_held(mid_caches, 1);
    pthread_t a = start(freeing, NULL), b = start(letting_go, NULL);
    finish(a);
    finish(b);
    assert(slabs() == (taken == objects[0] ? 1 : 2));
    give(taken, 2);
    for (unsigned i = 1; i < OBJECTS; i++) give(objects[i], 1);
    expect_nothing_left();
    return 0;
}
