/* slab_lists.h - the lists of a slab: how objects come into them, and how a current slab gives one to its heap.
 *
 *   objects never given out   behind `linked` of them: in no list
 *   freed list                freed.first: freed by the owner
 *   cross list                cross_list.h: freed by other threads
 *   local list                in the heap: what malloc gives out next; one of the three above, whole
 *
 * By the owner only.
 */
#ifndef JW_SLAB_LISTS_H
#define JW_SLAB_LISTS_H

#include "frontend/slab.h"

/* Makes a fresh slab of the class at that address, marked. Its state and key are left to the caller. */
void slab_format(struct slab *slab, const char *start, unsigned size_class);

/* Makes a slab without links one of the class. */
void slab_set_class(struct slab *slab, unsigned size_class);

/* Clears the links of a slab without objects, before its memory is cut into other objects or leaves the heap. The
 * program could read the links there. */
void slab_clear_links(const struct slab *slab);

/* Returns a new local list for a CURRENT slab: its freed list. NULL: the freed list is empty. */
static ALWAYS_INLINE void *slab_refill_freed(struct slab *slab) {
    void *first = slab->freed.first;
    if (link_is_end(first)) return NULL;
    slab->freed.first = LINK_END;
    free_target_set_budget(&slab->freed, slab->linked + 1u);
    return first;
}

/* Links the next objects that were never given out, about 4 KB of them, or LINKED_OBJECTS. NULL: there are none. */
void *slab_link_batch(struct slab *slab);

/* Returns a new local list: the cross list, else objects that were never given out. NULL: there are none. */
void *slab_refill_slowly(struct slab *slab);

/* Whether slab_refill_slowly would find something. A refill spent 38 instructions on a call that found nothing. */
static inline bool slab_has_more(const struct slab *slab, unsigned class) {
    return slab->linked < size_class_capacity(class) || cross_count(&slab->cross) > 0;
}

/* Returns the first local list of a slab that has become CURRENT, and pins the budget: the freed list, else the cross
 * list, else objects that were never given out. */
static inline void *slab_refill(struct slab *slab) {
    void *first = slab_refill_freed(slab);
    if (first) return first;
    free_target_set_budget(&slab->freed, slab->freed.budget + 1u);
    return slab_refill_slowly(slab);
}

/* Moves a list of the slab's objects to the freed list. Walks the list if the freed list is not empty. */
void slab_move_to_freed(struct slab *slab, void *first);

/* Moves the whole cross list to the freed list. */
void slab_drain_cross(struct slab *slab);

/* Objects given out, or waiting in the local or the cross list. */
unsigned slab_out(const struct slab *slab);

/* The same, of a FULL or WANTED slab: all but those that its owner has freed. */
static inline unsigned slab_out_of_full(const struct slab *slab) {
    unsigned frees = slab_state(slab) == FULL ? size_classes[slab->class].frees_until_reopen : 1u;
    return slab->linked - (frees - slab->freed.budget);
}

#endif
