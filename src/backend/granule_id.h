/* granule_id.h - a granule's number within the window; 0 is never a granule of ours. */
#ifndef JW_GRANULE_ID_H
#define JW_GRANULE_ID_H

#include <stdint.h>

#include "config/geometry.h"

typedef uint32_t granule_id;

#define ID_BITS 24
#define ID_MASK ((1u << ID_BITS) - 1)

/* The root's first granule. */
static inline granule_id root_of(granule_id id) {
    return id & ~(ROOT_GRANULES - 1);
}

_Static_assert(JW_WINDOW_SHIFT - JW_GRANULE_SHIFT <= ID_BITS, "a granule's number fits");

#endif
