/* midend_empty_twice - a slab that has become empty is allocated from and emptied again, while its last object's freer
 * still looks at it.
 *
 * bound     2 threads: 1 free; 1 allocation and its free; another slab of the class is in the Nest
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  the slab is given back by one of them, and nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static void *objects[OBJECTS], *other;

static void *freeing(void *unused) {
    (void)unused;
    give(objects[3], 1);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    give(take(3), 3);
    return NULL;
}

int main(void) {
    begin();
    take_slab(objects, 1);
    void *second[OBJECTS];
    take_slab(second, 2);
    for (unsigned i = 0; i < 3; i++) give(objects[i], 1); /* into the first slot, where it is found first */
    other = second[0];
    for (unsigned i = 1; i < OBJECTS; i++) give(second[i], 2);
    pthread_t a = start(freeing, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    assert(slabs() == 1);
    give(other, 2);
    expect_nothing_left();
    return 0;
}
