/* guard.h - in the hardened build, one slab in N is followed by granules without access (N: the option guard_rate).
 * These granules belong to the slab's range: a range that is larger than its slab has a guard, unless the OS refused
 * it. Verified by verify/clients/guards_shut.c.
 */
#ifndef JW_GUARD_H
#define JW_GUARD_H

#include "backend/backend.h"

/* As backend_fetch and backend_place, for a slab of `weight` granules, which is placed in that state. */
void *guarded_fetch(enum root_use use, uint32_t weight, bool *zeroed);
void guarded_place(granule_id range, uint32_t weight, enum slot_code state);

/* Whether ranges may have guards, those of large objects too. */
bool guards_in_ranges(void);

/* Counts a guard of any kind. False: the process may have no more. */
bool guard_begin(void);
void guard_end(void);

/* Whether ranges that no object uses may keep their guards: objects still find half of the guards. */
bool guards_may_wait(void);

/* The OS has refused a guard: the process has as many mappings as it may. From now on it has at most half as many
 * guards. The mappings that were kept in reserve are unmapped, for other uses. */
void guard_refused(void);

/* Opens the guard of a held range, which is counted. False: the OS refuses. Then a round tries again, and places the
 * range. */
bool guard_open(granule_id range);

/* Places the ranges whose guard the kernel had refused to make writable. *left: some are left. True: some were
 * placed. */
bool guard_round(bool *left);

#endif
