/* guard.h - in the hardened build, one slab in a chosen number (option guard_rate) is followed by granules that nobody
 * may touch. They belong to the slab's range: a range that is larger than its slab has a guard, or was to have one.
 */
#ifndef JW_GUARD_H
#define JW_GUARD_H

#include "backend/backend.h"

/* As backend_fetch and backend_place, for a slab of `weight` granules. */
void *guarded_fetch(enum root_use use, uint32_t weight, bool *zeroed);
void guarded_place(granule_id range, uint32_t weight);

/* Registers the guards' work in a round: ranges that were kept back, because the kernel would not make their guard
 * writable again, are placed. */
void guard_start(void);

#endif
