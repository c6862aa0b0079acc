/* midend_states - a full slab becomes partial and then empty, by two threads.
 *
 * bound     2 threads, 1 and 3 frees of the 4 objects of a slab; another slab of the class is in the Nest
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  the slab is given back by one of them, and nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static void *objects[OBJECTS], *other;

static void *freeing_three(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 3; i++) give(objects[i], 1);
    return NULL;
}

static void *freeing_one(void *unused) {
    (void)unused;
    give(objects[3], 1);
    return NULL;
}

int main(void) {
    begin();
    take_slab(objects, 1);
    other = take(2);
    pthread_t a = start(freeing_three, NULL), b = start(freeing_one, NULL);
    finish(a);
    finish(b);
    assert(!is_slab(granule_of(objects[0])) && is_slab(granule_of(other)));
    give(other, 2);
    expect_nothing_left();
    return 0;
}
