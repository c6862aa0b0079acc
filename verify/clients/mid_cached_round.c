/* mid_cached_round - a round gives back what is free in a slab of which a thread keeps a freed object to itself.
 *
 * bound     2 threads: 1 round that gives all back; 2 frees and 1 allocation by a thread that holds another slab, and
 *           letting go; a slab of 4 objects, of which 1 is in use
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  no page of an object is given back that a thread has, cached or in use; nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];
static void *objects[OBJECTS];

static void *reclaiming(void *unused) {
    (void)unused;
    midend_round(true);
    return NULL;
}

static void *keeping(void *unused) {
    (void)unused;
    give_held(mid_caches, objects[3], 1);
    void *object = take_held(mid_caches, 2);
    assert(object == objects[3]);
    give_held(mid_caches, object, 2);
    midend_drain(mid_caches);
    return NULL;
}

int main(void) {
    begin();
    void *last = take_held(mid_caches, 4);
    for (unsigned i = 1; i < OBJECTS; i++) take_held(mid_caches, 4);
    take_slab(objects, 1);
    for (unsigned i = 0; i < 3; i++) give(objects[i], 1);
    pthread_t a = start(reclaiming, NULL), b = start(keeping, NULL);
    finish(a);
    finish(b);
    for (unsigned i = 0; i < OBJECTS; i++) give((char *)last + (size_t)i * SIZE, 4);
    expect_nothing_left();
    return 0;
}
