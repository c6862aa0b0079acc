/* slab_source.h - where the two upper tiers get their slabs: from the backend; in the hardened build with guards. */
#ifndef JW_SLAB_SOURCE_H
#define JW_SLAB_SOURCE_H

#include "backend/backend.h"
#include "backend/hooks.h"

static inline void *slab_fetch(enum root_use use, uint32_t weight, bool *zeroed) {
    return JW_SECURE ? hardened_hooks.slab_fetch(use, weight, zeroed) : backend_fetch(use, weight, zeroed);
}

static inline void slab_place(granule_id range, uint32_t weight) {
    if (JW_SECURE) hardened_hooks.slab_place(range, weight);
    else backend_place(range);
}

#endif
