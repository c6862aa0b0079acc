/* slab_cross.c - takes a slab back after a round has given its memory away. */
#include "frontend/slab_cross.h"

#include "base/misuse.h"

bool slab_reclaim_taken(struct slab *slab, unsigned out) {
    /* [RR8] acquire: its memory is given back; pairs [RR9]; client remote_owner */
    uint32_t word = atomic_load_explicit(&slab->cross, memory_order_acquire);
    if (!cross_is_taken(word)) return true;
    if ((word & CROSS_TAKEN) == CROSS_GIVING) {
        atomic_fetch_or_explicit(&slab->cross, CROSS_WATCHED, memory_order_relaxed);
        return false;
    }
    /* nothing was out any more: what has been freed since was free */
    if (UNLIKELY(cross_count_of(word) != out)) misuse(DOUBLE_FREE, slab->own.first, 0);
    slab->own.first = LINK_END;
    slab->linked = 0;
    free_target_set_budget(&slab->own, 0);
    atomic_store_explicit(&slab->cross, 0, memory_order_relaxed); /* no round looks, no object is in use */
    return true;
}
