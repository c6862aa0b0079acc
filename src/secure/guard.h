/* guard.h - in the hardened build, one slab in a chosen number (option guard_rate) is followed by granules that nobody
 * may touch. They belong to the slab's range: a range that is larger than its slab has a guard, or was to have one.
 */
#ifndef JW_GUARD_H
#define JW_GUARD_H

#include "backend/backend.h"

/* As backend_fetch and backend_place, for a slab of `weight` granules. */
void *guarded_fetch(enum root_use use, uint32_t weight, bool *zeroed);
void guarded_place(granule_id range, uint32_t weight);

/* Once a round: ranges that were kept back, because the kernel would not make their guard writable again, are placed.
 * True: there are some for a later round. */
bool guard_round(void);

static inline void *slab_fetch(enum root_use use, uint32_t weight, bool *zeroed) {
    return JW_SECURE ? guarded_fetch(use, weight, zeroed) : backend_fetch(use, weight, zeroed);
}

static inline void slab_place(granule_id range, uint32_t weight) {
    if (JW_SECURE) guarded_place(range, weight);
    else backend_place(range);
}

#endif
