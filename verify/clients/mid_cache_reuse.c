/* mid_cache_reuse - what a holder has freed itself is allocated by others after it has left its slab.
 *
 * bound     2 threads, 2 frees into a held slab of 4 objects, all in use, and letting go; 2 allocations
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_MID_CACHE_BYTES=0
 * property  every object is its holder's alone; nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];
static void *objects[OBJECTS], *taken[2];

static void *holding(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 2; i++) give_held(mid_caches, objects[i], 1);
    midend_drain(mid_caches);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 2; i++) taken[i] = take(2);
    return NULL;
}

int main(void) {
    begin();
    for (unsigned i = 0; i < OBJECTS; i++) objects[i] = take_held(mid_caches, 1);
    pthread_t a = start(holding, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    for (unsigned i = 0; i < 2; i++) give(taken[i], 2);
    for (unsigned i = 2; i < OBJECTS; i++) give(objects[i], 1);
    expect_nothing_left();
    return 0;
}
