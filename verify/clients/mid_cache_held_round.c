/* mid_cache_held_round - a round gives back the pages of what is free in a slab that a thread holds. Meanwhile the
 * holder frees into the slab, allocates from it, and leaves it.
 *
 * bound     2 threads: 1 free, 1 allocation, 1 free and leaving the slab; 1 round over the holder's caches; a slab of 4
 *           objects, 1 of them in use
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  no page of an object is given back that a thread has; the slab is left once, and nothing is lost
 */
#include "verify/clients/mid_cache_held.h"

static void *object;

static void *holding(void *unused) {
    (void)unused;
    give_held(mid_caches, object, 1);
    object = take_held(mid_caches, 2);
    midend_drain(mid_caches);
    return NULL;
}

int main(void) {
    begin();
    object = take_held(mid_caches, 1);
    pthread_t a = start(holding, NULL), b = start(reclaiming, NULL);
    finish(a);
    finish(b);
    give(object, 2);
    expect_nothing_left();
    return 0;
}
