/* hit_path.h - the hit path of malloc, for malloc itself and for operator new. */
#ifndef JW_HIT_PATH_H
#define JW_HIT_PATH_H

#include "frontend/heap_pop.h"
#include "frontend/thread_heap.h"
#include "platform/instructions.h"

/* The index in heap->first of the size's local list. */
static ALWAYS_INLINE size_t list_index_of_size(const struct heap *heap, size_t size) {
    return byte_load(&heap->size_map[size & -(size_t)(size <= FRONTEND_MAX)]);
}

/* `heap` is the calling thread's. NULL: the link in the local list at *list_index is not near: allocate_far serves. */
static ALWAYS_INLINE void *allocate_near(struct heap *heap, size_t size, size_t *list_index) {
    *list_index = list_index_of_size(heap, size);
    void *object = heap->first[*list_index];
    if (UNLIKELY(STRICT_LINKS || !link_may_be_read(object))) return NULL;
    uint64_t distance = link_distance(object, thread_key());
    if (UNLIKELY(!link_may_be_followed(distance, NEAR_SIZE))) return NULL;
    return heap_pop_near(&heap->first[*list_index], object, distance);
}

/* Allocates where allocate_near has returned NULL. NULL and ENOMEM: there is no memory. Not in the hardened build. */
void *allocate_far(struct heap *heap, size_t size, size_t list_index);

#endif
