/* first_range.h - where the process's first range lies: at a random place in its root, so that no address of ours tells
 * where it is. The parts of the root that are not needed yet are closed (root.h).
 */
#ifndef JW_FIRST_RANGE_H
#define JW_FIRST_RANGE_H

#include <stdint.h>

#include "backend/ownership.h"

/* Called for a range without pages. Returns a random number if it is the process's first one. 0: another range was the
 * first, or the first one stays where its root begins. */
uint64_t first_range_random(void);

/* As range_cut, for the first range. Returns the part at random that has the weight. */
granule_id first_range_cut(granule_id range, uint32_t weight, enum slot_code state, uint64_t random);

/* Closes a free range without pages (root.h), or that much of a larger one. False: there is none, or the OS refuses. */
wide_bool range_close(enum root_use use, uint32_t weight);

#endif
