/* map_grows - two threads need a root when no slot is free: one of them doubles the tables, and both find a slot; then
 * one of them may be given the other's.
 *
 * bound     2 threads: 2 roots made, 1 look-up; tables for 2 slots at first, for 8 at most
 * property  each root has an id, a slot and records of its own; the thread that is given an address finds them
 * defines   -DJW_FIRST_WINDOW_SHIFT=12 -DJW_WINDOW_SHIFT=14 -DMODEL_ROOTS=8 -DMODEL_REGION=32768 -DJW_SPARE_PERCENT=0
 */
#include "verify/clients/ranges.h"

static granule_id first, made[2];
static _Atomic(char *) handed;

static void *making(void *unused) {
    (void)unused;
    made[0] = root_create(FOR_SLABS);
    assert(made[0]);
    *(uint64_t *)record_at(made[0]) = 1;
    atomic_store_explicit(&handed, granule_address(made[0]), memory_order_release);
    return NULL;
}

static void *looking(void *unused) {
    (void)unused;
    made[1] = root_create(FOR_SLABS);
    assert(made[1]);
    *(uint64_t *)record_at(made[1]) = 2;
    char *address = atomic_load_explicit(&handed, memory_order_acquire);
    if (!address) return NULL;
    assert(map_owns(address) && granule_of(address) != first && leaf_of(address) == leaf_word(HELD, 0));
    return NULL;
}

int main(void) {
    begin();
    first = own(root_create(FOR_RANGES));
    pthread_t a = start(making, NULL), b = start(looking, NULL);
    finish(a);
    finish(b);
    assert(*(uint64_t *)record_at(made[0]) == 1 && *(uint64_t *)record_at(made[1]) == 2);
    own(made[0]);
    own(made[1]);
    assert(made[0] != made[1] && made[0] != first && made[1] != first && root_count() == 3);
    place(made[0], UNMAPPED);
    place(made[1], UNMAPPED);
    place(first, UNMAPPED);
    end();
    return 0;
}
