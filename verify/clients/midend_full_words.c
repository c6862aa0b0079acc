/* midend_full_words - a thread that frees into a full slab uses the words that the filling thread left.
 *
 * bound     2 threads: an allocation that takes a slab from the list and fills it; a free into that slab after one into
 *           another full slab
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  the slab's words say where it waits, so that it is given back when it is empty; nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static void *objects[3][OBJECTS], *taken;

static void *allocating(void *unused) {
    (void)unused;
    taken = take(2);
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0][0], 1);
    give(objects[2][0], 1);
    return NULL;
}

int main(void) {
    begin();
    for (unsigned slab = 0; slab < 3; slab++) take_slab(objects[slab], 1);
    for (unsigned slab = 0; slab < 3; slab++) give(objects[slab][3], 1);
    /* two wait in slots and are taken again, the third stays in the list */
    for (unsigned slab = 0; slab < 2; slab++) objects[slab][3] = take(1);
    pthread_t a = start(allocating, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    give(taken, 2);
    for (unsigned i = 1; i < OBJECTS - 1; i++) give(objects[2][i], 1);
    assert(!is_slab(granule_of(objects[2][0])));
    for (unsigned slab = 0; slab < 2; slab++)
        for (unsigned i = slab == 0 ? 1 : 0; i < OBJECTS; i++) give(objects[slab][i], 1);
    expect_nothing_left();
    return 0;
}
