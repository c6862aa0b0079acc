/* join_before_free - a large object gets a cached range and the memory without pages behind it, while another thread
 * takes that memory and frees it.
 *
 * bound     2 threads: 1 fetch that joins two free ranges | 1 fetch, 1 free
 * property  no granule has two users; memory that is called zero is zero; all is free once in the end, and joins
 * defines   -DJW_RANGE_TRIES=2
 */
#include "backend/range_fetch.h"
#include "verify/clients/ranges.h"

static granule_id joined;

static granule_id fetch_from_roots(uint32_t weight) {
    bool zeroed = false;
    granule_id range = range_fetch(FOR_OTHER_RANGES, weight, FETCH_FROM_ROOTS, &zeroed);
    for (granule_id i = 0; range && zeroed && i < weight; i++) assert(*(uint64_t *)granule_address(range + i) == 0);
    return own(range);
}

static void *joining(void *unused) {
    (void)unused;
    joined = fetch_from_roots(3);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    granule_id range = own(range_acquire(FOR_OTHER_RANGES, UNMAPPED, 1));
    if (range) place(range, UNMAPPED);
    return NULL;
}

int main(void) {
    begin();
    options.cache_min = 0;
    granule_id small = fetch(1), whole = fetch_for(FOR_OTHER_RANGES, ROOT_GRANULES);
    place(whole, MAPPED);
    granule_id cached = fetch_for(FOR_OTHER_RANGES, 2), behind = fetch_for(FOR_OTHER_RANGES, 2);
    granule_id rest = fetch_for(FOR_OTHER_RANGES, ROOT_GRANULES - 4);
    watermark_note_peak();
    place(cached, MAPPED);
    place(behind, UNMAPPED);
    assert(behind == cached + 2);
    pthread_t a = start(joining, NULL), b = start(taking, NULL);
    finish(a);
    finish(b);
    if (joined) place(joined, MAPPED);
    place(rest, MAPPED);
    place(small, MAPPED);
    end();
    return 0;
}
