/* slab_cross.h - the owner's side of the cross word (cross_list.h). The owner marks a slab before it leaves the slab
 * alone. It takes a slab back from a round (remote_reclaim.h) before it allocates from the slab or empties it.
 */
#ifndef JW_SLAB_CROSS_H
#define JW_SLAB_CROSS_H

#include "frontend/slab.h"

/* Whether a round has taken the slab (remote_reclaim.h). */
static inline wide_bool slab_is_taken(const struct slab *slab) {
    return cross_is_taken(cross_get(&slab->cross));
}

/* Whether all objects of a FULL, WANTED or PARTIAL slab are free. `out`: its objects that are out. True for a slab that
 * a round has taken. Compares counts, and reads no list. */
static inline bool slab_is_free(const struct slab *slab, unsigned out) {
    return cross_count(&slab->cross) == out;
}

/* Makes the slab CURRENT and unwatched: from then on no round takes it. True: a round has watched or taken the slab. */
static inline bool slab_stop_rounds(struct slab *slab) {
    atomic_store_explicit(&slab->state, CURRENT, memory_order_relaxed);
    return cross_unwatch(&slab->cross);
}

/* The rest of slab_regain, where slab_stop_rounds has said true. */
wide_bool slab_regain_from_round(struct slab *slab, unsigned out);

/* Takes a FULL, WANTED or PARTIAL slab back: the owner's first step before it allocates from the slab or empties it.
 * `out`: its objects that are out. From then on no round takes the slab. If a round has taken it, the slab is as new.
 * False: a round is giving the slab's memory back now, or has, and the hard limit (backend/limits.h) does not admit the
 * page again. The state is CURRENT then, and the caller must restore it. */
static inline bool slab_regain(struct slab *slab, unsigned out) {
    return LIKELY(!slab_stop_rounds(slab)) || slab_regain_from_round(slab, out);
}

/* Does the first half of slab_regain: the state becomes CURRENT. True: a round has taken the slab, and the caller must
 * set WATCHED again. */
static inline bool slab_begin_regain(struct slab *slab) {
    return slab_stop_rounds(slab) && slab_is_taken(slab);
}

/* Whether another thread has cleared the mark, and the owner has not taken the slab back yet. */
static inline bool slab_is_reopening(const struct slab *slab) {
    return slab->marked && !cross_is_full(cross_get(&slab->cross));
}

/* Marks a slab that is not reopening. False: objects have come back meanwhile. */
static inline bool slab_mark(struct slab *slab) {
    slab->marked = cross_mark_full(&slab->cross);
    return slab->marked;
}

#endif
