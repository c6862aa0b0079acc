/* object_size.c - the size of an object in use, of any tier. */
#include "core/object_size.h"

#include "backend/huge.h"
#include "backend/large_object.h"
#include "core/sealed.h"
#include "frontend/slab_links.h"
#include "frontend/suspect.h"
#include "frontend/thread_heap.h"
#include "midend/midend.h"
#include "platform/misuse.h"

/* Size of a small object whose first word may be a link. If only another thread could tell whether the object is free,
 * it counts as in use. */
static COLD size_t suspect_size(const void *object) {
    const struct slab *slab = slab_of(object);
    if (TRAILERS || !slab_has_start(object, slab)) return 0;
    if (slab_has_link(object) && slab_has_key(slab, thread_key()) && heap_search_lists(thread_heap(), object)) return 0;
    return size_classes[slab->class].size;
}

ALWAYS_INLINE size_t size_if_live(const void *object) {
    struct leaf_word leaf = leaf_of(object);
    size_t size = 0;
    /* first: a huge object may share a slab's record */
    if (!page_map_owns(object)) return (size = huge_usable_size(object)) || !JW_SEAL ? size : sealed_size(object);
    if (small_object_size(object, leaf, &size)) return size;
    if (leaf_is_slab(leaf)) {
        size = suspect_size(object);
    } else {
        enum leaf_kind kind = object_kind(object, leaf);
        if (kind == MID) size = midend_usable_size(thread_heap()->mid_caches, object);
        if (kind == LARGE) size = large_usable_size(object);
    }
    return size;
}

size_t object_size(const void *object) {
    size_t size = size_if_live(object);
    if (size == 0) misuse(INVALID_POINTER, object, 0);
    return size;
}
