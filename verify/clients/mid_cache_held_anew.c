/* mid_cache_held_anew - a thread gives a slab's range back, makes a slab of it again and holds that one. Meanwhile a
 * round looks at what the thread holds.
 *
 * bound     2 threads: 1 round, 1 allocation, 1 free and leaving the slab; 1 round over the holder's caches
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  the round sees the slab that is held, not the one before it in the same place; nothing is lost
 */
#include "verify/clients/mid_cache_held.h"

static void *holding(void *unused) {
    (void)unused;
    midend_round(true);
    assert(slabs() == 0);
    void *object = take_held(mid_caches, 1);
    give_held(mid_caches, object, 1);
    midend_drain(mid_caches);
    return NULL;
}

int main(void) {
    begin();
    give(take(1), 1);
    pthread_t a = start(holding, NULL), b = start(reclaiming, NULL);
    finish(a);
    finish(b);
    expect_nothing_left();
    return 0;
}
