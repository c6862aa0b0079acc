/* object_cache.h - cached objects: freed to a full slab by its owner, and at once in their class's local list, where
 * malloc finds them. The slab knows nothing of it: it stays FULL, and they count as given out like all of the local
 * list.
 *
 * A slab of two objects would change its state, and lists, at nearly each free of a program that frees in random order;
 * so would its class at each malloc. This way what is freed here and allocated there meets on the way, and free needs
 * no branch to tell full slabs from others: a FULL slab's `target` is the local list, as a CURRENT one's is. As cached
 * objects keep slabs from becoming empty there must be few of them:
 *
 *   budget   of a local list: how many frees may go there, the current slab's among them. When it is spent, the cached
 *            objects are counted. Either malloc has taken half of them again, and there is room for as many; or all go
 *            back to their slabs, and `cache_spent` says so: then it is spent by each free to the list, which opens a
 *            full slab, until the next refill from a list. So a thread that only frees keeps no cached object. In a
 *            class without cached objects the budget has one use: a thread that needs no refill still does its
 *            periodic maintenance
 *
 * A local list may end with the origin of its class's current slab, where that list came from the cross list; so may a
 * cached object's link. No cached object is left in it when that slab is no longer current.
 */
#ifndef JW_OBJECT_CACHE_H
#define JW_OBJECT_CACHE_H

#include "frontend/heap.h"

/* The budget of a class's local list is spent: whether a freed object of that slab must not go there. */
static inline bool object_cache_is_closed(const struct heap *heap, const struct slab *slab) {
    return heap->cache_spent >> slab->class & 1 && slab_state(slab) == FULL;
}

/* The freed object does not go there, but counts as one of the frees until the FULL slab is reopened. */
void object_cache_refuse(struct heap *heap, struct slab *slab);

/* The freed object went there: a new budget, for as many frees as there is room for. Where malloc has not taken half of
 * the cached objects again, all go back, and the budget is spent until the next refill. */
void object_cache_renew_budget(struct heap *heap, unsigned class);

/* All of the class's local list goes back to the slabs. */
void object_cache_drain(struct heap *heap, unsigned class);

#endif
