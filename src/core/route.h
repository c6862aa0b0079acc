/* route.h - the slow path of malloc, and the tier of a size: for the files of core/ and hardened/entry.c. */
#ifndef JW_ROUTE_H
#define JW_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/large_object.h"
#include "base/serving_tier.h"
#include "config/size_classes.h"
#include "frontend/heap.h"

/* Returns the tier for a size of at least 1 B. If that tier cannot serve an alignment, or has no memory for a mid or
 * large size, a tier for larger sizes serves the request. A small size without memory fails. The hit paths of malloc
 * and of sized free have shorter tests (hit_path.h, allocate_slowly, sized.c). */
static ALWAYS_INLINE enum serving_tier tier_of(size_t size) {
    if (size <= FRONTEND_MAX) return TIER_SMALL;
    if (size < BACKEND_MIN) return TIER_MID;
    return large_fits(size, 1) ? TIER_LARGE : TIER_HUGE;
}

/* Serve requests that the hit path cannot serve: small ones, whose class's local list is empty; and those of NO_LIST,
 * which are size 0 and the sizes above the frontend's. */
void *allocate_small(struct heap *heap, size_t size, unsigned class);
void *allocate_unlisted(struct heap *heap, size_t size);

/* Allocates from the first tier above the small ones that has memory. *dirty_bytes: bytes at the object's start that
 * may not be 0; SIZE_MAX: all may. NULL and ENOMEM: no tier has memory. */
void *allocate_above_small(size_t size, size_t alignment, size_t *dirty_bytes);

/* Whether a request that has failed may succeed when unused memory has gone back. */
wide_bool room_may_help(size_t size, size_t alignment);

/* NULL, and ENOMEM in errno. */
void *out_of_memory(void);

#endif
