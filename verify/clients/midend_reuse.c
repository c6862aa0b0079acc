/* midend_reuse - a thread that has freed a slab's last object reads the slab's word. The slab may be gone by then, and
 * its range another slab of the same class.
 *
 * bound     2 threads, 1 free; 1 round and 1 allocation from the slab's range, which the root has no other of
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  every object is its holder's alone; nothing is lost or given back twice
 */
#include "verify/clients/midend_slabs.h"

static void *object, *rest, *taken;

static void *reclaiming(void *unused) {
    (void)unused;
    thrift_purge();
    taken = take(2);
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
    pthread_t a = start(reclaiming, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    give(taken, 2);
    large_free(rest);
    expect_nothing_left();
    return 0;
}
