/* reclaim_both - a thread above the watermark gives its range back itself while a round gives back that range's
 * neighbour.
 *
 * bound     2 threads: a round of both buffers; 1 free
 * property  the neighbours meet unmapped, and their root goes back: nothing waits mapped, nothing is lost
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/ranges.h"

static granule_id freed;

static void *reclaiming(void *unused) {
    (void)unused;
    thrift_purge();
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    give(freed);
    return NULL;
}

int main(void) {
    begin();
    freed = fetch(4);
    give(fetch(4));
    options.cache_min = 0;
    options.cache_percent = 0;
    atomic_store_explicit(&reclaimer->state, RUNNING, memory_order_relaxed); /* else the free gives more back */
    pthread_t a = start(reclaiming, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    assert(free_granules(MAPPED) == 0);
    end();
    return 0;
}
