/* midend_last_free - the last two objects of a slab are freed while a third thread allocates.
 *
 * bound     3 threads, 1 free each of two, 1 allocation; another slab of the class is in the Nest
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  an empty slab is given back or allocated from, never both; of two slabs one at most stays empty
 */
#include "verify/clients/midend_slabs.h"

static void *objects[OBJECTS], *other, *taken;

static void *freeing(void *object) {
    give(object, 1);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    taken = take(3);
    return NULL;
}

int main(void) {
    begin();
    take_slab(objects, 1);
    other = take(2);
    give(objects[0], 1);
    give(objects[1], 1);
    pthread_t a = start(freeing, objects[2]), b = start(freeing, objects[3]), c = start(allocating, NULL);
    finish(a);
    finish(b);
    finish(c);
    give(other, 2);
    give(taken, 3);
    assert(slabs() == 1);
    expect_nothing_left();
    return 0;
}
