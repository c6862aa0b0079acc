/* page_map_tables.h - what the slots of the window (page_map_slots.c) need to know of the tables (page_map.c). */
#ifndef JW_PAGE_MAP_TABLES_H
#define JW_PAGE_MAP_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/granule_id.h"
#include "base/compiler.h"

/* What a mask covers, in granules or in slots:  [0, low) and, if `far` is not 0, [far, far + low). Both are powers of
 * two. A growing table has a part at each of the two places. The first root lies in the second one, if there is one. */
static ALWAYS_INLINE size_t page_map_low(size_t mask) {
    return (mask + 1) & ~mask;
}

static ALWAYS_INLINE size_t page_map_far(size_t mask) {
    return mask & ~(page_map_low(mask) - 1);
}

/* Returns the mask of the granules that the tables cover, for a thread that will use them. */
size_t page_map_covered(void);

/* Doubles the tables if they still have the mask. False when the OS refuses, or the tables are complete. */
bool page_map_grow(size_t mask);

/* Gives back the memory of a root's records and words. */
void page_map_discard(granule_id root);

#endif
