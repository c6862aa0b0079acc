/* partial_list.h - the partial slabs of a class in a heap: a list, by the numbers of slabs in their records.
 *
 *   next       the slab behind, 0: none
 *   previous   the slab before; of the first slab the last one, so that a slab is pushed without a walk
 *
 * First in, first out: the longer a slab waits, the more objects come back to it, and the fewer refills there are. By
 * the heap's thread only. Inline for the same reason as heap_make_current (heap_slabs.h).
 */
#ifndef JW_PARTIAL_LIST_H
#define JW_PARTIAL_LIST_H

#include "frontend/slab.h"

static inline struct slab *slab_before(const struct slab *slab) {
    return (struct slab *)record_at(slab_id_get(&slab->freed.previous));
}

/* Pushes the slab behind all others of its list. */
static inline void partial_push(struct slab **first, struct slab *slab) {
    const granule_id id = record_id(slab);
    slab_id_put(&slab->freed.next, 0);
    if (*first) {
        slab_id_copy(&slab->freed.previous, &(*first)->freed.previous);
        slab_id_put(&slab_before(slab)->freed.next, id);
    } else {
        *first = slab;
    }
    slab_id_put(&(*first)->freed.previous, id);
}

static inline void partial_remove(struct slab **first, struct slab *slab) {
    struct slab *next = slab_by_id(&slab->freed.next), *behind = next ? next : *first;
    if (slab == *first) *first = next;
    else slab_id_copy(&slab_before(slab)->freed.next, &slab->freed.next);
    if (behind != slab) slab_id_copy(&behind->freed.previous, &slab->freed.previous);
}

/* The slab that has waited longest; NULL when there is none. */
static inline struct slab *partial_pop(struct slab **first) {
    struct slab *slab = *first;
    if (!slab) return NULL;
    *first = slab_by_id(&slab->freed.next);
    if (*first) slab_id_copy(&(*first)->freed.previous, &slab->freed.previous);
    return slab;
}

#endif
