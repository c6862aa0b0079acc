/* allocate.c - the hit path of malloc: one conditional branch. A size that is 0 or too large, a class without a slab, a
 * thread without a heap and a slab without an object all show as an empty local list. */
#include "frontend/allocator.h"

void *allocate(size_t size) {
    struct heap *heap = thread.heap;
    size_t entry = (size - 1) / 8;
    entry = entry < MAP_ENTRIES - 1 ? entry : MAP_ENTRIES - 1;
    unsigned class = heap->map[entry];
    if (UNLIKELY(link_end(heap->local[class]))) return allocate_slowly(heap, size);
    return heap_pop(heap, class, thread.key);
}

#if !JW_SECURE /* there they are shield/shield.c's */
JW_EXPORT void *jw_malloc(size_t size) __attribute__((alias("allocate")));
#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("allocate")));
#endif
#endif
