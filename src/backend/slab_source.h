/* slab_source.h - where the two upper tiers get their slabs: from the backend; in the hardened build with guards. */
#ifndef JW_SLAB_SOURCE_H
#define JW_SLAB_SOURCE_H

#include "backend/backend.h"
#include "backend/hardened_hooks.h"
#include "config/size_classes.h"

/* Each class of the frontend and of the midend has a region. Only the hardened build keeps regions apart. */
enum { MID_REGIONS = SIZE_CLASS_COUNT, SLAB_REGIONS = MID_REGIONS + LEAF_CLASS + 1 };

static inline void *slab_fetch(unsigned region, enum root_use use, uint32_t weight, bool *zeroed) {
    return JW_SECURE ? hardened_hooks.slab_fetch(region, weight, zeroed) : backend_fetch(use, weight, zeroed);
}

/* As backend_fetch_granules; in the hardened build one granule. */
static inline granule_id slab_fetch_granules(unsigned region, uint32_t *count, bool *zeroed) {
    if (!CLASSES_APART) return backend_fetch_granules(count, zeroed);
    *count = 1;
    const void *start = slab_fetch(region, FOR_SMALL_SLABS, 1, zeroed);
    return start ? granule_of(start) : 0;
}

static inline void slab_place(unsigned region, granule_id range, uint32_t weight) {
    if (JW_SECURE) hardened_hooks.slab_place(region, range, weight);
    else backend_place_known(range, weight);
}

#endif
