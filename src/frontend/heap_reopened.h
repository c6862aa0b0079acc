/* heap_reopened.h - how a full slab returns to its owner after another thread's free.
 *
 *   step                       by                              the slab
 *   clears the mark            the first free by another       reopening (slab.h, `marked`)
 *                              thread
 *   pushes the slab            the same thread                 in the heap's `reopened` stack
 *   heap_take_reopened         the owner, in slow paths        ordinary again: CURRENT; FULL or WANTED if the owner can
 *                                                              mark it again; else PARTIAL or EMPTY
 *
 * The owner takes the whole stack by one exchange and looks at a few slabs at a time. The slabs may be many, and
 * their records are in other processors' caches. `reopened_taken` leads to the rest.
 */
#ifndef JW_HEAP_REOPENED_H
#define JW_HEAP_REOPENED_H

#include "config/policy.h"
#include "frontend/heap.h"

/* Pushes a freed object to its slab's cross list, also if the slab has the full mark. By any thread: it needs no
 * heap. */
void free_to_cross_list(void *object);

/* Takes back up to `most` reopened slabs. */
void heap_take_reopened(struct heap *heap, unsigned most);

/* By the owner, after its free has opened the slab. A slab that is REOPENING now waits in the stack with all its
 * objects free, and no round takes it. So the owner takes some back: it may be a thread that only frees. */
static inline void heap_take_if_reopening(struct heap *heap, const struct slab *slab) {
    if (UNLIKELY(slab_state(slab) == REOPENING)) heap_take_reopened(heap, TAKE_FOR_REOPENING);
}

#endif
