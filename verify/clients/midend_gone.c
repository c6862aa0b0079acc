/* midend_gone - a thread that has freed a slab's last object reads the slab's word. The slab may be gone by then, and
 * the word another range's.
 *
 * bound     2 threads, 1 free; 1 round and 2 ranges from the slab's range, which the root has no other of
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  every range is its holder's alone; nothing is lost or given back twice
 */
#include "verify/clients/midend_slabs.h"

static void *object, *rest, *ranges[2];

static void *reclaiming(void *unused) {
    (void)unused;
    thrift_purge();
    bool zeroed;
    for (unsigned i = 0; i < 2; i++) {
        ranges[i] = large_allocate(GRANULE_SIZE, 1, &zeroed);
        if (ranges[i]) fill(ranges[i], GRANULE_SIZE, 2 + i);
    }
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    give(object, 1);
    return NULL;
}

int main(void) {
    begin();
    bool zeroed;
    object = take(1);
    rest = large_allocate(6 * GRANULE_SIZE, 1, &zeroed);
    assert(rest);
    model_reservations_left = 0;
    pthread_t a = start(reclaiming, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    for (unsigned i = 0; i < 2; i++) {
        if (!ranges[i]) continue;
        expect(ranges[i], GRANULE_SIZE, 2 + i);
        large_free(ranges[i]);
    }
    large_free(rest);
    expect_nothing_left();
    return 0;
}
