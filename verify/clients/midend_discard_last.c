/* midend_discard_last - a slab's last object is freed while a round has the slab; its range is given out again.
 *
 * bound     2 threads: 1 round that gives all back, and 1 taking of the slab's range out of the backend's Nest; 1 free;
 *           another slab of the class is in the Nest; no other memory
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  the range is its holder's alone, and nothing is lost
 */
#include "verify/clients/midend_slabs.h"

enum { ACTIVE = 0 }; /* the Nest that freed ranges go to */

static void *objects[OBJECTS];
static granule_id range;

static void *reclaiming(void *unused) {
    (void)unused;
    midend_round(true);
    range = range_acquire_from(ACTIVE, class_of_weight(2));
    if (range) fill(granule_address(range), 2 * GRANULE_SIZE, 3);
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    give(objects[3], 1);
    return NULL;
}

int main(void) {
    begin();
    take_slab(objects, 1);
    void *other = take(2);
    bool zeroed;
    void *rest = large_allocate(4 * GRANULE_SIZE, 1, &zeroed);
    assert(rest);
    model_reservations_left = 0;
    midend_round(true); /* the round to come has no business with the other slab */
    for (unsigned i = 0; i < 3; i++) give(objects[i], 1);
    pthread_t a = start(reclaiming, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    give(other, 2);
    large_free(rest);
    if (range) {
        expect(granule_address(range), 2 * GRANULE_SIZE, 3);
        backend_place(range);
    }
    expect_nothing_left();
    return 0;
}
