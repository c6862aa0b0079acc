/* midend_free_allocate - an object of a listed slab is freed while another thread allocates from that slab.
 *
 * bound     2 threads, 1 free and 2 allocations; a slab of 4 objects, of which 2 are in use
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  every object is its holder's alone; one empty slab is kept
 */
#include "verify/clients/midend_slabs.h"

static void *first, *second, *taken[2];

static void *freeing(void *unused) {
    (void)unused;
    give(first, 1);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 2; i++) taken[i] = take(3 + i);
    return NULL;
}

int main(void) {
    begin();
    first = take(1);
    second = take(2);
    pthread_t a = start(freeing, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    give(second, 2);
    for (unsigned i = 0; i < 2; i++) give(taken[i], 3 + i);
    assert(slabs() > 0);
    expect_nothing_left();
    return 0;
}
