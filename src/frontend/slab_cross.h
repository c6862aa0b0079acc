/* slab_cross.h - the owner's side of the cross word (cross_list.h). The owner marks a slab before it leaves the slab
 * alone, and takes a slab back from a round (remote_reclaim.h) before it allocates from the slab or empties it.
 */
#ifndef JW_SLAB_CROSS_H
#define JW_SLAB_CROSS_H

#include "frontend/slab.h"

/* Whether a round has taken the slab (remote_reclaim.h). */
static inline bool slab_is_taken(const struct slab *slab) {
    return cross_is_taken(cross_get(&slab->cross));
}

/* Whether all objects are free of a FULL or PARTIAL slab of which so many are out, as those of a taken one are: told by
 * counts alone. */
static inline bool slab_is_free(const struct slab *slab, unsigned out) {
    return cross_count(&slab->cross) == out;
}

/* The owner's first step with a FULL or PARTIAL slab, of which so many objects are out, that it is about to allocate
 * from or to empty: from now on no round takes it. Where one has, the slab is as new. False: a round is just giving its
 * memory back; its state is CURRENT, and must become again what it was. */
bool slab_reclaim_taken(struct slab *slab, unsigned out);
static inline bool slab_unwatch(struct slab *slab) {
    atomic_store_explicit(&slab->state, CURRENT, memory_order_relaxed);
    return cross_unwatch(&slab->cross);
}
static inline bool slab_reclaim(struct slab *slab, unsigned out) {
    return LIKELY(!slab_unwatch(slab)) || slab_reclaim_taken(slab, out);
}

/* The first half of it: the state is CURRENT. True: a round has taken the slab, and WATCHED is missing. */
static inline bool slab_leave(struct slab *slab) {
    return slab_unwatch(slab) && slab_is_taken(slab);
}

/* Whether another thread has cleared the mark and has not returned the slab yet. */
static inline bool slab_is_on_its_way(const struct slab *slab) {
    return slab->marked && !cross_is_full(cross_get(&slab->cross));
}

/* Marks a slab that is not on its way. False: objects have come back meanwhile. */
static inline bool slab_mark(struct slab *slab) {
    slab->marked = cross_mark_full(&slab->cross);
    return slab->marked;
}

#endif
