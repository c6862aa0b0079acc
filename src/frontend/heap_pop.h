/* heap_pop.h - takes the first object of a heap's local list. */
#ifndef JW_HEAP_POP_H
#define JW_HEAP_POP_H

#include "frontend/heap.h"
#include "frontend/slab_links.h"

/* Takes the first object of a local list. Its link must be near. */
static ALWAYS_INLINE void *heap_pop_near(void **first, void *object, uint64_t distance) {
    slab_check_fill(object);
    *first = link_followed(object, distance);
    link_clear(object);
    return object;
}

/* Takes the first object of a local list that is not empty. */
static inline void *heap_pop(void **first, uint64_t key) {
    void *object = *first;
    slab_check_fill(object);
    *first = slab_next(object, key);
    link_clear(object);
    return object;
}

/* The same by a call, for the slow paths. `list_index`: in heap->first. */
NOINLINE void *heap_pop_slowly(struct heap *heap, size_t list_index);

#endif
