/* give_back.h - gives the pages of memory that only the caller uses back to the OS, and says whether they went. */
#ifndef JW_GIVE_BACK_H
#define JW_GIVE_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/granule_id.h"

/* Gives back the whole OS pages of memory that only the caller uses. False: the OS refuses; the pages' contents are
 * undefined. */
wide_bool give_back_pages(void *start, size_t size);

/* Gives the pages of a held range back. False when they stay: also if the range has no whole page. */
bool give_back_range(granule_id range, uint32_t weight);

/* Gives the pages of a held mapped range back, and places the range. Returns the granules that stay mapped. `room`: if
 * the OS refuses the pages, the range joins its unmapped siblings, so that a whole root can be unmapped. */
size_t give_back_and_place(granule_id range, uint32_t weight, bool room);

/* Whether the OS has refused pages since the last call of give_back_take_refusal. */
wide_bool give_back_was_refused(void);
bool give_back_take_refusal(void);

#endif
