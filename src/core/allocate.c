/* allocate.c - the hit path of malloc: one conditional branch, on whether the first object's link is near
 * (sync/free_link.h). The link is far in four cases:
 * - the list is empty: the size is 0 or too large, or the thread has no heap, or the class has no slab, or the slab has
 *   no object left;
 * - the object is the list's last one;
 * - the next object is in another block of NEAR_SIZE;
 * - the program wrote to the object after its free. */
#include "core/allocate.h"

#include "core/hit_path.h"
#include "core/route.h"
#include "core/tracking.h"
#include "platform/features.h"

/* The four cases above. */
NOINLINE void *allocate_far(struct heap *heap, size_t size, size_t list_index) {
    void *object = heap->first[list_index];
    if (link_is_end(object) && list_index == NO_LIST) return allocate_unlisted(heap, size);
    if (link_is_end(object)) return allocate_small(heap, size, class_of_list(list_index));
    if (STRICT_LINKS || JW_FILL || link_next(object, heap->key) != LINK_END) return heap_pop_slowly(heap, list_index);
    heap->first[list_index] = LINK_END;
    link_clear(object);
    return object;
}

HIT_PATH void *allocate(size_t size) {
    struct heap *heap = thread_heap();
    size_t list_index;
    void *object = allocate_near(heap, size, &list_index);
    if (STRICT_LINKS && LIKELY(!link_is_end(heap->first[list_index])))
        return heap_pop(&heap->first[list_index], heap->key);
    return LIKELY(object) ? object : allocate_far(heap, size, list_index);
}

#if PLAIN_ENTRIES /* else they are in hardened/entry.c, core/tracked.c or core/tagged.c */
JW_EXPORT void *jw_malloc(size_t size) __attribute__((alias("allocate")));
#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("allocate")));
SECOND_NAME(malloc, allocate);
#endif
#endif
