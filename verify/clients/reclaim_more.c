/* reclaim_more - where our thread does not run, a free above the watermark gives other cached ranges back, too, while
 * another thread takes one of them.
 *
 * bound     2 threads: what such a free gives back besides its own range; 1 acquire of the range that waits
 * property  the range goes back, or has one user; nothing is lost
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "backend/headroom.h"
#include "verify/clients/ranges.h"

static granule_id taken;

static void *freeing(void *unused) {
    (void)unused;
    thrift_give_back_above_watermark(2);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    taken = own(range_acquire(FOR_SMALL_SLABS, MAPPED, 2));
    return NULL;
}

int main(void) {
    begin();
    granule_id kept = fetch(4);
    give(fetch(2));
    options.cache_min = 0;
    options.cache_percent = 0;
    pthread_t a = start(freeing, NULL), b = start(taking, NULL);
    finish(a);
    finish(b);
    if (taken) place(taken, MAPPED);
    thrift_give_back_above_watermark(0);
    assert(free_granules(MAPPED) == 0);
    give(kept);
    end();
    return 0;
}
