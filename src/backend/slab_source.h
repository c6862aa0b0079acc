/* slab_source.h - where the two upper tiers get their slabs: from the backend; in the hardened build with guards. */
#ifndef JW_SLAB_SOURCE_H
#define JW_SLAB_SOURCE_H

#include "backend/backend.h"
#include "backend/hardened_hooks.h"
#include "config/size_classes.h"

/* A slab's kind is its class: one of the frontend, or one of the midend. The hardened build keeps kinds apart. */
enum { MID_KINDS = SIZE_CLASS_COUNT, SLAB_KINDS = MID_KINDS + LEAF_CLASS + 1 };

static inline void *slab_fetch(unsigned kind, enum root_use use, uint32_t weight, bool *zeroed) {
    return JW_SECURE ? hardened_hooks.slab_fetch(kind, weight, zeroed) : backend_fetch(use, weight, zeroed);
}

static inline void slab_place(unsigned kind, granule_id range, uint32_t weight) {
    if (JW_SECURE) hardened_hooks.slab_place(kind, range, weight);
    else backend_place(range);
}

#endif
