/* route.h - the slow paths of malloc and free, and the tier of a size: for the files of core/ and hardened/entry.c. */
#ifndef JW_ROUTE_H
#define JW_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "base/serving_tier.h"
#include "config/size_classes.h"
#include "frontend/heap.h"

/* The tier for a size from 1 on. If that tier cannot serve an alignment, a larger one does. So it does for a mid or
 * large size without memory; a small size without memory fails. The hit paths of malloc and of sized free have shorter
 * tests (hit_path.h, allocate_slowly, sized.c). */
static ALWAYS_INLINE enum serving_tier tier_of(size_t size) {
    if (size <= FRONTEND_MAX) return TIER_SMALL;
    if (size < BACKEND_MIN) return TIER_MID;
    return fits_range(size, 1) ? TIER_LARGE : TIER_HUGE;
}

/* Requests that the hit path cannot serve: the local list is empty. `list`: its index in heap->first; that of NO_CLASS
 * is for size 0 and sizes above the frontend's. */
void *allocate_slowly(struct heap *heap, size_t size, unsigned list);

/* Frees that the hit path cannot do: NULL, objects of the other tiers, misuse. */
void deallocate_slowly(void *object, struct leaf_word leaf);

/* Allocates from the first tier above the small ones that has memory. *dirty_bytes: bytes at the object's start that
 * may not be 0; SIZE_MAX: all may. NULL and ENOMEM: no tier has memory. */
void *allocate_above_small(size_t size, size_t alignment, size_t *dirty_bytes);

/* NULL, and ENOMEM in errno. */
void *out_of_memory(void);

#endif
