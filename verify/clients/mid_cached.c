/* mid_cached - a thread keeps an object that it has freed to itself, and allocates it again. Meanwhile another frees
 * into that object's slab and allocates from it.
 *
 * bound     2 threads: 2 frees and 1 allocation by a thread that holds another slab, and letting go; 1 free and 1
 *           allocation; a slab of 4 objects, all in use
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  every object is its holder's alone; what was cached is found again, and nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];
static void *objects[OBJECTS], *taken;

static void *keeping(void *unused) {
    (void)unused;
    give_held(mid_caches, objects[0], 1);
    void *object = take_held(mid_caches, 2);
    assert(object == objects[0]);
    give_held(mid_caches, object, 2);
    midend_drain(mid_caches);
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    give(objects[1], 1);
    taken = take(3);
    return NULL;
}

int main(void) {
    begin();
    void *last[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) last[i] = take_held(mid_caches, 4); /* the cache is of this slab */
    take_slab(objects, 1);
    pthread_t a = start(keeping, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    give(taken, 3);
    for (unsigned i = 2; i < OBJECTS; i++) give(objects[i], 1);
    for (unsigned i = 0; i < OBJECTS; i++) give(last[i], 4);
    expect_nothing_left();
    return 0;
}
