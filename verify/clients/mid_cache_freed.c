/* mid_cache_freed - an object of a held slab is freed by another thread while the holder frees one and allocates.
 *
 * bound     2 threads, 1 free; 1 free and 2 allocations by the holder; a held slab of 4 objects, all in use
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  every object is its holder's alone; nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];
static void *objects[OBJECTS], *taken[2];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0], 1);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    give_held(mid_caches, objects[1], 1);
    for (unsigned i = 0; i < 2; i++) taken[i] = take_held(mid_caches, 2);
    return NULL;
}

int main(void) {
    begin();
    for (unsigned i = 0; i < OBJECTS; i++) objects[i] = take_held(mid_caches, 1);
    pthread_t a = start(freeing, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    for (unsigned i = 0; i < 2; i++) give_held(mid_caches, taken[i], 2);
    for (unsigned i = 2; i < OBJECTS; i++) give_held(mid_caches, objects[i], 1);
    midend_drain(mid_caches);
    expect_nothing_left();
    return 0;
}
