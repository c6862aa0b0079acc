/* midend_allocate_twice - two threads allocate from one slab, whose last objects these are.
 *
 * bound     2 threads, 1 allocation each; a slab with 2 free objects
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  every object is its holder's alone; a slab that one of them does not find, holding the other's objects, is
 *           not lost
 */
#include "verify/clients/midend_slabs.h"

static void *before[2], *taken[2];

static void *allocating(void *place) {
    *(void **)place = take(1);
    return NULL;
}

int main(void) {
    begin();
    before[0] = take(1);
    before[1] = take(1);
    pthread_t a = start(allocating, &taken[0]), b = start(allocating, &taken[1]);
    finish(a);
    finish(b);
    assert(taken[0] != taken[1]);
    for (unsigned i = 0; i < 2; i++) {
        give(before[i], 1);
        give(taken[i], 1);
    }
    expect_nothing_left();
    return 0;
}
