/* object_cache.h - cached objects: freed to a full slab by its owner, and at once in their class's local list, where
 * malloc finds them. The slab's record does not show this: the slab stays FULL, and its cached objects count as `out`,
 * as all objects of a local list do.
 *
 * Without cached objects, in a program that frees in random order, a slab of two objects would change its state and its
 * list at nearly each free. Its class would change slabs at nearly each malloc. With cached objects malloc takes what
 * was just freed. free needs no branch for that: the `target` of a FULL slab is the local list, as that of a CURRENT
 * slab. Cached objects keep slabs from becoming empty, so there must be few of them:
 *
 *   budget   of a local list: frees that may still go there, the current slab's among them. At 0: if malloc has taken
 *            half of the cached objects, the budget is renewed. Else all go back to their slabs, and the cache is
 *            closed until the next refill from a list (`cache_spent`): meanwhile each free opens a full slab. So a
 *            thread that only frees keeps no cached object. In a class without an object cache, periodic maintenance
 *            runs at 0
 *
 * A local list that was taken from the cross list ends with the slab's origin. So may the link of a cached object. No
 * cached object is left in the list when that slab is no longer current.
 */
#ifndef JW_OBJECT_CACHE_H
#define JW_OBJECT_CACHE_H

#include "frontend/heap.h"

/* Whether a freed object of that slab must not go to the class's local list, whose budget is spent. */
static inline bool object_cache_is_closed(const struct heap *heap, const struct slab *slab) {
    return heap->cache_spent >> slab->class & 1 && slab_state(slab) == FULL;
}

/* Counts a freed object that does not go to the local list as one of the frees until the FULL slab is reopened. */
void object_cache_refuse(struct heap *heap, struct slab *slab);

/* Renews the budget after a freed object went there, for as many frees as there is room for. If malloc has not taken
 * half of the cached objects again, all go back, and the budget is spent until the next refill. */
void object_cache_renew_budget(struct heap *heap, unsigned class);

/* Gives all of the class's local list back to the slabs. */
void object_cache_drain(struct heap *heap, unsigned class);

#endif
