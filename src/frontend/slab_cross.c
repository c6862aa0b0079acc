/* slab_cross.c - takes a slab back after a round has given its memory away. */
#include "frontend/slab_cross.h"

#include "backend/limits.h"
#include "backend/thrift_counters.h"
#include "platform/misuse.h"

wide_bool slab_regain_from_round(struct slab *slab, unsigned out) {
    struct cross_word word = cross_get_after_round(&slab->cross);
    if (!cross_is_taken(word)) return true;
    bool fresh = !cross_is_kept(word);
    if (cross_is_giving(word) || (fresh && !limits_admit(1))) {
        cross_watch_again(&slab->cross);
        return false;
    }
    /* nothing was out any more: a free by the owner since then was a double free */
    if (UNLIKELY(cross_count_of(word) != out)) misuse(DOUBLE_FREE, slab->freed.first, 0);
    if (fresh) other_bytes_add(GRANULE_SIZE);
    slab->freed.first = LINK_END;
    slab->linked = 0;
    free_target_set_budget(&slab->freed, 0);
    cross_empty(&slab->cross);
    return true;
}
