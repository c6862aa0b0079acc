/* mid_cache_round - a round comes while a holder frees the last object of its slab and leaves it.
 *
 * bound     2 threads: 1 free and letting go; 1 round
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  the slab is held or given back, never both; nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];
static void *object;

static void *holding(void *unused) {
    (void)unused;
    give_held(mid_caches, object, 1);
    midend_drain(mid_caches);
    return NULL;
}

static void *reclaiming(void *unused) {
    (void)unused;
    thrift_purge();
    return NULL;
}

int main(void) {
    begin();
    object = take_held(mid_caches, 1);
    pthread_t a = start(holding, NULL), b = start(reclaiming, NULL);
    finish(a);
    finish(b);
    expect_nothing_left();
    return 0;
}
