/* allocate.c - the hit path of malloc: one conditional branch. A size that is 0 or too large, a class without a slab, a
 * thread without a heap and a slab without an object all show as an empty local list. */
#include "frontend/allocator.h"

void *allocate(size_t size) {
    struct heap *heap = thread.heap;
    unsigned place = heap->map[size & -(size_t)(size <= FRONTEND_MAX)];
    if (UNLIKELY(link_end(heap->first[place]))) return allocate_slowly(heap, size, place);
    return heap_pop(&heap->first[place], thread.key);
}

#if !JW_SECURE /* there they are shield/shield.c's */
JW_EXPORT void *jw_malloc(size_t size) __attribute__((alias("allocate")));
#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("allocate")));
#endif
#endif
