/* loose.h - loose objects: freed to a full slab by its owner, and at once in their class's local list, where malloc
 * finds them. The slab knows nothing of it: it stays FULL, and they count as given out like all of the local list.
 *
 * A slab of two objects would change its state, and lists, at nearly each free of a program that frees in random order;
 * so would its class at each malloc. This way what is freed here and allocated there meets on the way. As loose objects
 * keep slabs from becoming empty there must be few of them:
 *
 *   loose_left   of a class, in its heap: so many more objects may go loose. When the last one has, those of now are
 *                counted. Either malloc has taken half of them again, and there is room for as many; or all go back to
 *                their slabs and it stays 0 until the next refill. So who only frees keeps no object loose
 */
#ifndef JW_LOOSE_H
#define JW_LOOSE_H

#include "frontend/heap.h"

/* The class's last loose object has come. */
void heap_look_at_loose(struct heap *heap, unsigned class);

/* All of the class's local list goes back to the slabs. */
void heap_put_loose_back(struct heap *heap, unsigned class);

/* A FULL slab's object goes loose, unless that would be too many (false). */
static inline bool heap_loosen(struct heap *heap, struct slab *slab, void *object) {
    unsigned class = slab->class;
    if (heap->loose_left[class] == 0) return false;
    void *first = heap->local[class];
    slab->budget = 1;
    slab_fill(slab, object);
    link_write(object, link_end(first) ? LINK_END : first);
    heap->local[class] = object;
    if (UNLIKELY(--heap->loose_left[class] == 0)) heap_look_at_loose(heap, class);
    return true;
}

#endif
