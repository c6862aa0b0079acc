/* deferred_neighbour - a range on the deferred list, not acquired (acquire_deferred), is placed. Meanwhile its
 * neighbour is freed, by a thread that takes Knit's half for a moment.
 *
 * bound     2 threads: 1 drain, 1 free; 1 slot, 1 try
 * property  nothing is lost, no granule is given out twice
 * defines   -DJW_RANGE_TRIES=1 -DJW_NEST_SLOTS=1
 */
#include "verify/clients/ranges.h"

static granule_id freed, deferred;

static void *freeing(void *unused) {
    (void)unused;
    place(freed, MAPPED);
    return NULL;
}

static void *draining(void *unused) {
    (void)unused;
    range_place_deferred();
    return NULL;
}

int main(void) {
    begin();
    freed = fetch(4);
    deferred = fetch(4);
    place(deferred, MAPPED);
    /* as range_acquire_from does it when it cannot put the range back */
    granule_id taken = nest_take(&ownership.nests[0], class_of_weight(4));
    assert(taken == deferred);
    leaf_set(deferred, leaf_deferred(false, false));
    range_set_next(deferred, 0);
    atomic_store_explicit(&ownership.deferred.first, deferred, memory_order_relaxed);
    pthread_t a = start(freeing, NULL), b = start(draining, NULL);
    finish(a);
    finish(b);
    end();
    return 0;
}
