/* range_fetch.h - what large objects (large_object.c) need of the fetching of ranges (backend.c). */
#ifndef JW_RANGE_FETCH_H
#define JW_RANGE_FETCH_H

#include "backend/root.h"

/* A held range of at least `weight` granules; 0 when there is no memory. *zeroed: whether its memory is known to be
 * zero. `roots`: a new root may be made. `last`: the caller has no other way to get memory. */
granule_id range_fetch(enum root_use use, uint32_t weight, bool *zeroed, bool roots, bool last);

/* Splits the held range down to `weight`. The remainders are placed in the state that the range had. */
void range_cut(granule_id range, uint32_t weight, enum slot_code state);

#endif
