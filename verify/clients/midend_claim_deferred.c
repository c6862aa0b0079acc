/* midend_claim_deferred - an object is freed and allocated again; the slab finds its place in the Nest taken.
 *
 * bound     2 threads, 2 frees and 1 allocation; 1 slot, the lists locked as by a fork
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8 -DJW_NEST_SLOTS=1
 * property  the object is its holder's alone (elsewhere the fence of a placed slab would order its two users)
 */
#include "verify/clients/midend_slabs.h"

static void *full[OBJECTS], *partial[2], *taken;

static void *freeing(void *unused) {
    (void)unused;
    give(partial[0], 2);
    give(full[0], 1);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    taken = take(3);
    return NULL;
}

int main(void) {
    begin();
    take_slab(full, 1);
    partial[0] = take(2);
    partial[1] = take(2);
    midend_before_fork();
    pthread_t a = start(freeing, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    midend_after_fork(false);
    give(taken, 3);
    give(partial[1], 2);
    for (unsigned i = 1; i < OBJECTS; i++) give(full[i], 1);
    expect_nothing_left();
    return 0;
}
