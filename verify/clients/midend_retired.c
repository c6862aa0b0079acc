/* midend_retired - a thread gives back the range of a slab that it has emptied. Another thread takes the last object of
 * the class's other slab meanwhile, and then needs a new slab. It can only be made of that range.
 *
 * bound     2 threads: 1 free; 2 allocations; of a slab's 4 objects 1 is in use, of another's 3; no room besides
 * defines   -DJW_MIDEND_UNIT_SHIFT=7 -DJW_BACKEND_MIN_SHIFT=8
 * property  every object is its holder's alone; nothing is lost or given back twice
 */
#include "verify/clients/midend_slabs.h"

enum { TAKEN = 2 };

static void *last, *taken[TAKEN];

static void *freeing(void *unused) {
    (void)unused;
    give(last, 1);
    return NULL;
}

static void *allocating(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < TAKEN; i++) {
        taken[i] = midend_allocate(NULL, SIZE, 1);
        if (taken[i]) fill(taken[i], SIZE, 10 + i);
    }
    return NULL;
}

int main(void) {
    void *one[OBJECTS], *other[OBJECTS];
    bool zeroed;
    begin();
    take_slab(one, 1);
    take_slab(other, 2);
    void *rest = large_allocate(4 * GRANULE_SIZE, 1, &zeroed);
    assert(rest);
    model_reservations_left = 0;
    give(other[0], 2);
    for (unsigned i = 1; i < OBJECTS; i++) give(one[i], 1);
    last = one[0];
    pthread_t a = start(freeing, NULL), b = start(allocating, NULL);
    finish(a);
    finish(b);
    for (unsigned i = 0; i < TAKEN; i++)
        if (taken[i]) give(taken[i], 10 + i);
    for (unsigned i = 1; i < OBJECTS; i++) give(other[i], 2);
    large_free(rest);
    expect_nothing_left();
    return 0;
}
