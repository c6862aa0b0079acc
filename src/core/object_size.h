/* object_size.h - the size of an object in use; of a small one by a few loads, for realloc and malloc_usable_size. */
#ifndef JW_OBJECT_SIZE_H
#define JW_OBJECT_SIZE_H

#include "frontend/heap.h"
#include "frontend/slab_free.h"

/* Returns the usable bytes of a live object. If there is none, size_if_live returns 0, and object_size aborts. */
size_t size_if_live(const void *object);
size_t object_size(const void *object);

/* `object`: any address, with its leaf word. False unless it is a small object in use. */
static ALWAYS_INLINE bool small_object_size(const void *object, struct leaf_word leaf, size_t *size) {
    const struct slab *slab = slab_of(object);
    if (!leaf_is_slab(leaf)) return false;
    /* in the hardened build trailers tell what is free, and tags forbid reading the object */
    if (TRAILERS ? !slab_has_start(object, slab) : !slab_has_object(object, slab)) return false;
    *size = size_classes[slab->class].size;
    return true;
}

#endif
