/* mid_cache_held_rounds - two rounds look at a slab that a thread holds, while another thread frees into it.
 *
 * bound     3 threads: 1 round over the holder's caches | the same | 1 free; a slab of 4 objects, 1 of them in use
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  no page of an object is given back that a thread has; the holder finds its slab as it was, and nothing is
 *           lost
 */
#include "verify/clients/mid_cache_held.h"

static void *object;

static void *freeing(void *unused) {
    (void)unused;
    give(object, 1);
    return NULL;
}

int main(void) {
    begin();
    object = take_held(mid_caches, 1);
    pthread_t a = start(freeing, NULL), b = start(reclaiming, NULL), c = start(reclaiming, NULL);
    finish(a);
    finish(b);
    finish(c);
    assert(slabs() == 1);
    object = take_held(mid_caches, 2);
    give_held(mid_caches, object, 2);
    midend_drain(mid_caches);
    expect_nothing_left();
    return 0;
}
