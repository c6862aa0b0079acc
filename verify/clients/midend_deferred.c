/* midend_deferred - slabs whose Nest is busy are deferred by the freeing thread, and placed by the allocating one.
 *
 * bound     2 threads, 3 frees into full slabs and 1 allocation; 1 slot, the lists locked as by a fork
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_NEST_SLOTS=1
 * property  no slab is lost or found twice
 */
#include "verify/clients/midend_slabs.h"

enum { SLABS = 3 };
static void *objects[SLABS][OBJECTS], *taken;

static void *freeing(void *unused) {
    (void)unused;
    for (unsigned slab = 0; slab < SLABS; slab++) give(objects[slab][0], 1);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    taken = take(2);
    return NULL;
}

int main(void) {
    begin();
    for (unsigned slab = 0; slab < SLABS; slab++) take_slab(objects[slab], 1);
    midend_before_fork();
    pthread_t a = start(freeing, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    midend_after_fork(false);
    give(taken, 2);
    for (unsigned slab = 0; slab < SLABS; slab++)
        for (unsigned i = 1; i < OBJECTS; i++) give(objects[slab][i], 1);
    expect_nothing_left();
    return 0;
}
