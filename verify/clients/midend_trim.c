/* midend_trim - reclamation's round takes a slab whose last object is being freed; its range is given out again.
 *
 * bound     2 threads, 1 round and an allocation of the slab's range, 1 free; the root has no other free range
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  the range is its holder's alone, and nothing is lost
 */
#include "verify/clients/midend_slabs.h"

static void *object, *rest, *range;

static void *reclaiming(void *unused) {
    (void)unused;
    thrift_purge();
    bool zeroed;
    range = large_allocate(2 * GRANULE_SIZE, 1, &zeroed);
    if (range) fill(range, 2 * GRANULE_SIZE, 2);
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    give(object, 1);
    return NULL;
}

int main(void) {
    begin();
    object = take(1);
    rest = take_rest();
    pthread_t a = start(reclaiming, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    large_free(rest);
    if (range) {
        expect(range, 2 * GRANULE_SIZE, 2);
        large_free(range);
    }
    expect_nothing_left();
    return 0;
}
