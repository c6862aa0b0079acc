/* reserve_place - a thread that is marked as real-time fetches from the reserve while another frees a range of it.
 *
 * bound     2 threads, 1 free, and 1 fetch by a thread that is marked meanwhile; 1 try
 * property  the range that is fetched, if one is free, and the one that is freed are the reserve's; no other thread
 *           gets one; what is free there counts as in use, and no round takes it; with the last mark all goes back
 * defines   -DJW_RANGE_TRIES=1
 */
#include "backend/reserve.h"
#include "backend/thrift_buffers.h"
#include "verify/clients/ranges.h"

static granule_id freed, got;

static void *freeing(void *unused) {
    (void)unused;
    give(freed);
    return NULL;
}

static void *marked(void *unused) {
    (void)unused;
    reserve_mark(true);
    got = own(range_acquire(FOR_RESERVE, MAPPED, 4));
    reserve_mark(false);
    return NULL;
}

int main(void) {
    begin();
    reserve_mark(true);
    bool added = reserve_add(ROOT_SIZE);
    assert(added);
    freed = fetch(4);
    assert(root_use(freed) == FOR_RESERVE && free_granules(MAPPED) == 0);
    pthread_t a = start(freeing, NULL), b = start(marked, NULL);
    finish(a);
    finish(b);
    range_place_deferred();
    assert((!got || root_use(got) == FOR_RESERVE) && free_granules(MAPPED) == 0);
    assert(!acquire_any(MAPPED) && !acquire_any(UNMAPPED));
    thrift_reclaim(0, false);
    thrift_reclaim(1, false);
    assert(free_granules(UNMAPPED) == 0);
    if (got) give(got);
    reserve_mark(false);
    end();
    return 0;
}
