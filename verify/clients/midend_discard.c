/* midend_discard - a round gives back a free page of a slab that another thread frees into and allocates from.
 *
 * bound     2 threads: 1 round that gives all back; 1 free and 1 allocation; a slab of 4 objects, of which 2 are in
 *           use; no other memory
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  pages are given back only of objects that no thread has; nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static void *objects[OBJECTS], *taken;

static void *reclaiming(void *unused) {
    (void)unused;
    midend_round(true);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    give(objects[2], 1);
    taken = midend_allocate(NULL, SIZE, 1); /* NULL: the round has the slab */
    if (taken) fill(taken, SIZE, 2);
    return NULL;
}

int main(void) {
    begin();
    take_slab(objects, 1);
    void *rest = take_rest();
    give(objects[0], 1);
    give(objects[1], 1);
    pthread_t a = start(reclaiming, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    if (taken) give(taken, 2);
    give(objects[3], 1);
    large_free(rest);
    expect_nothing_left();
    return 0;
}
