/* midend_deferred_pushes - two threads defer slabs at once; a third frees into one of these.
 *
 * bound     3 threads, 1 free each; 1 slot, which is taken, and the lists locked as by a fork
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_NEST_SLOTS=1
 * property  no slab is lost; the allocating thread finds them
 */
#include "verify/clients/midend_slabs.h"

enum { SLABS = 2 };
static void *objects[SLABS][OBJECTS], *in_slot;

static void *freeing(void *object) {
    give(object, 1);
    return NULL;
}

int main(void) {
    begin();
    for (unsigned slab = 0; slab < SLABS; slab++) take_slab(objects[slab], 1);
    in_slot = take(1);
    midend_before_fork();
    pthread_t a = start(freeing, objects[0][0]), b = start(freeing, objects[1][0]), c = start(freeing, objects[0][1]);
    finish(a);
    finish(b);
    finish(c);
    midend_after_fork(false);
    void *taken[OBJECTS];
    take_slab(taken, 2);
    assert(slabs() == SLABS + 1);
    for (unsigned i = 0; i < OBJECTS; i++) give(taken[i], 2);
    give(in_slot, 1);
    for (unsigned i = 2; i < OBJECTS; i++) give(objects[0][i], 1);
    for (unsigned i = 1; i < OBJECTS; i++) give(objects[1][i], 1);
    expect_nothing_left();
    return 0;
}
