/* reclaim_acquire - a round gives back what is free in both buffers while another thread takes a range from there.
 *
 * bound     2 threads: a round of both buffers; 1 acquisition
 * property  pages are given back only of a range that no thread has; no granule is lost
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/ranges.h"

static granule_id got;

static void *reclaiming(void *unused) {
    (void)unused;
    thrift_purge();
    return NULL;
}

static void *acquiring(void *unused) {
    (void)unused;
    got = own(range_acquire(FOR_SMALL_SLABS, MAPPED, ROOT_GRANULES));
    return NULL;
}

int main(void) {
    begin();
    give(fetch(ROOT_GRANULES));
    pthread_t a = start(reclaiming, NULL), b = start(acquiring, NULL);
    finish(a);
    finish(b);
    assert((got != 0) == (root_count() == 1));
    if (got) give(got);
    end();
    return 0;
}
