/* range_fetch.h - what large objects (large_object.c) need of the fetching of ranges (backend.c). */
#ifndef JW_RANGE_FETCH_H
#define JW_RANGE_FETCH_H

#include "backend/root.h"

/* What a fetch may do for a range. Each effort includes those before it.
 *
 *   FETCH_MAPPED       takes a free range that may have pages
 *   FETCH_FROM_ROOTS   takes a free range of a root that is there
 *   FETCH_WITH_ROOT    makes a root
 *   FETCH_AT_LAST      gives back all unused memory, and tries again: its caller has no other way */
enum fetch_effort { FETCH_MAPPED, FETCH_FROM_ROOTS, FETCH_WITH_ROOT, FETCH_AT_LAST };

/* Fetches a held range of `weight` granules, rounded up to a class; 0 when there is no memory. *zeroed: whether its
 * memory is known to be zero. */
granule_id range_fetch(enum root_use use, uint32_t weight, enum fetch_effort effort, bool *zeroed);

/* Splits the held range down to `weight`. The remainders are placed in the state that the range had. */
void range_cut(granule_id range, uint32_t weight, enum slot_code state);

#endif
