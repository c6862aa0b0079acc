/* regions_round - a slab of the hardened build is fetched and placed in its region, while a round takes the pages of
 * what waits there.
 *
 * bound     2 threads: 1 fetch and 1 place; 1 round that gives all back; 1 slab waits before
 * defines   -DJW_SECURE=1
 * property  a slab has one holder, and is zero; none is lost, nor a byte of the counts
 */
#include "verify/clients/regions.h"

static void *working(void *unused) {
    (void)unused;
    place_slab(fetch_slab());
    return NULL;
}

static void *rounding(void *unused) {
    (void)unused;
    thrift_purge();
    return NULL;
}

int main(void) {
    begin_regions(0);
    place_slab(fetch_slab());
    pthread_t a = start(working, NULL), b = start(rounding, NULL);
    finish(a);
    finish(b);
    end_regions();
    return 0;
}
