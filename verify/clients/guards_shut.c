/* guards_shut - the OS refuses to open the guards of slabs of the hardened build, and rounds try again.
 *
 * bound     2 threads: 1 place; 1 round, after a place; 2 rounds after both; the OS may refuse 2 calls
 * defines   -DJW_SECURE=1
 * property  each range is placed once, by one thread; a round that leaves some says so; none is lost
 */
#include "hardened/guard.h"
#include "verify/clients/ranges.h"

static granule_id ranges[2];

static void place_guarded(granule_id range) {
    assert(knit_weight(range) > 1); /* it has a guard */
    guarded_place(disown(range), 1, MAPPED);
}

static void *placing(void *unused) {
    (void)unused;
    place_guarded(ranges[1]);
    return NULL;
}

int main(void) {
    begin();
    atomic_store_explicit(&options.guard_rate, 1, memory_order_relaxed);
    bool zeroed, left;
    for (unsigned i = 0; i < 2; i++) ranges[i] = own(granule_of(guarded_fetch(FOR_SMALL_SLABS, 1, &zeroed)));
    atomic_store_explicit(&model_faults_left, 2, memory_order_relaxed);
    place_guarded(ranges[0]);
    pthread_t other = start(placing, NULL);
    guard_round(&left);
    finish(other);
    guard_round(&left);
    atomic_store_explicit(&model_faults_left, 0, memory_order_relaxed);
    bool more = left;
    assert(guard_round(&left) == more && !left);
    end();
    return 0;
}
