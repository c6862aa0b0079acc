/* object_cache.h - cached objects: freed to a full slab by its owner, and at once in their class's local list, where
 * malloc finds them. The slab's record does not show this: the slab stays FULL, and its cached objects count as `out`,
 * as all objects of a local list do.
 *
 * Without cached objects, in a program that frees in random order, a slab of two objects would change its state and its
 * list at nearly each free. Its class would change slabs at nearly each malloc. With cached objects malloc takes what
 * was just freed. free needs no branch for that: the `target` of a FULL slab is the local list, as that of a CURRENT
 * slab. Cached objects keep slabs from becoming empty, so there must be few of them:
 *
 *   budget   of a local list: frees that may still go there, the current slab's among them. At 0 it is renewed. If more
 *            than half of the cache is full, the objects behind that half go back to their slabs first: those freed
 *            last stay. In a class without an object cache, periodic maintenance runs at 0
 *
 *   a cache is    event                                                       then
 *   open          the budget is spent, and objects go back                    halved
 *   halved        the budget is spent; at most half of the cache is full      open
 *   halved        the budget is spent; malloc has taken none or one since     closed: all objects go back
 *   any           a refill from a list                                        open
 *
 * While a cache is closed, each free opens a full slab. So a thread that only frees keeps no cached object.
 *
 * A local list that was taken from the cross list ends with the slab's origin. So may the link of a cached object. No
 * cached object is left in the list when that slab is no longer current.
 */
#ifndef JW_OBJECT_CACHE_H
#define JW_OBJECT_CACHE_H

#include "frontend/heap.h"

/* The bits of a class in cache_states. A cache without both is open. */
static ALWAYS_INLINE uint64_t cache_halved(unsigned class) {
    return (uint64_t)1 << class;
}

static ALWAYS_INLINE uint64_t cache_closed(unsigned class) {
    return cache_halved(class) << 32;
}

/* A refill from a list: the cache is open. */
static ALWAYS_INLINE void object_cache_open(struct heap *heap, unsigned class) {
    heap->cache_states &= ~(cache_halved(class) | cache_closed(class));
}

static inline bool object_cache_is_closed(const struct heap *heap, unsigned class) {
    return heap->cache_states & cache_closed(class);
}

/* Whether a freed object of that slab must not go to the class's local list, whose budget is spent. */
static inline bool object_cache_refuses(const struct heap *heap, const struct slab *slab) {
    return object_cache_is_closed(heap, slab->class) && slab_state(slab) == FULL;
}

/* Counts a freed object that does not go to the local list as one of the frees until the FULL slab is reopened. */
void object_cache_refuse(struct heap *heap, struct slab *slab);

/* Renews the budget after a freed object went there, for as many frees as there is room for. Gives objects back where
 * the cache is more than half full, as the table says. */
void object_cache_renew_budget(struct heap *heap, unsigned class);

/* Gives all of the class's local list back to the slabs. */
void object_cache_drain(struct heap *heap, unsigned class);

#endif
