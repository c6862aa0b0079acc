/* page_map_grows - two threads need three roots when no slot is free: each doubles the tables without the other, twice
 * if it comes to that, wherever the other one has stopped; then one of them may be given the other's root.
 *
 * bound     2 threads: 3 roots reserved, 1 look-up; tables for 2 slots at first, for 8 at most
 * property  each root has an id, a slot and records of its own; the thread that has one, or is given one, finds them
 * defines   -DJW_FIRST_WINDOW_SHIFT=12 -DJW_WINDOW_SHIFT=14 -DMODEL_ROOTS=8 -DMODEL_REGION=32768
 */
#include "verify/clients/page_map_roots.h"

static char *first, *made[3];
static _Atomic(char *) handed;

static void *making(void *unused) {
    (void)unused;
    made[0] = make(1, 1);
    atomic_store_explicit(&handed, made[0], memory_order_release);
    return NULL;
}

static void *looking(void *unused) {
    (void)unused;
    made[1] = make(2, 1);
    made[2] = make(3, 1);
    char *address = atomic_load_explicit(&handed, memory_order_acquire);
    if (address) look(address, 1);
    return NULL;
}

int main(void) {
    begin();
    model_waits_end = true;
    first = make(4, 1);
    pthread_t a = start(making, NULL), b = start(looking, NULL);
    finish(a);
    finish(b);
    look(first, 4);
    for (unsigned i = 0; i < 3; i++) {
        look(made[i], i + 1);
        assert(page_map_give_back(made[i]));
    }
    assert(page_map_give_back(first));
    assert(claimed_slots() == 0 && model_reserved_roots() == 0);
    return 0;
}
