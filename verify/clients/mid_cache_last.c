/* mid_cache_last - the last object of a held slab is freed by another thread while the holder leaves it.
 *
 * bound     2 threads, 1 free, 1 letting go; another slab of the class is in the Nest
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  the slab is given back by one of them, and nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];
static void *object, *other;

static void *freeing(void *unused) {
    (void)unused;
    give(object, 1);
    return NULL;
}

static void *letting_go(void *unused) {
    (void)unused;
    midend_drain(mid_caches);
    return NULL;
}

int main(void) {
    begin();
    object = take_held(mid_caches, 1);
    other = take(2);
    pthread_t a = start(freeing, NULL), b = start(letting_go, NULL);
    finish(a);
    finish(b);
    assert(!is_slab(granule_of(object)) && is_slab(granule_of(other)));
    give(other, 2);
    expect_nothing_left();
    return 0;
}
