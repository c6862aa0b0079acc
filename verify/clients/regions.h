/* regions.h - empty slabs of a class of the hardened build, which its region keeps. As free does it, a holder leaves
 * nothing but zeros in a slab.
 */
#ifndef JW_VERIFY_REGIONS_H
#define JW_VERIFY_REGIONS_H

#include "hardened/guard.h"
#include "hardened/regions.h"
#include "verify/clients/ranges.h"

enum { REGION = 1 };

static inline void begin_regions(size_t guard_rate) {
    begin();
    atomic_store_explicit(&options.guard_rate, guard_rate, memory_order_relaxed);
    regions_start();
}

static inline granule_id fetch_slab(void) {
    bool zeroed;
    const uint64_t *slab = region_fetch(REGION, 1, &zeroed);
    assert(slab);
    if (zeroed) expect(slab, GRANULE_SIZE, 0);
    return own(granule_of(slab));
}

static inline void place_slab(granule_id range) {
    disown(range);
    for (granule_id i = 0, weight = knit_weight(range); i < weight; i++) *(uint64_t *)granule_address(range + i) = 0;
    region_place(REGION, range, 1);
}

/* After the threads: all of the region goes to the backend, and no byte of it is counted any more. */
static inline void end_regions(void) {
    regions_give_up();
    for (unsigned without_pages = 0; without_pages < 2; without_pages++)
        assert(atomic_load_explicit(&unused_bytes[without_pages], memory_order_relaxed) == 0);
    end();
}

/* Another thread places the range while this one gives up all of the region. No guard is taken off the count that had
 * not been added. */
static inline void give_up_beside(void *(*placing)(void *), granule_id range) {
    pthread_t other = start(placing, &range);
    regions_give_up();
    finish(other);
    end_regions();
    assert(guard_begin());
    guard_end();
}

#endif
