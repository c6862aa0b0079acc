/* object_size.h - the size of a small object in use, told in a few loads: for the paths of realloc and usable size. */
#ifndef JW_OBJECT_SIZE_H
#define JW_OBJECT_SIZE_H

#include "frontend/heap.h"

/* For the address of anything whose leaf word is `leaf`: false unless it is a small object. */
static ALWAYS_INLINE bool small_object_size(const void *object, struct leaf_word leaf, size_t *size) {
    const struct slab *slab = slab_of(object);
    if (!leaf_is_slab(leaf)) return false;
    /* the hardened build's trailers tell what is free, and its tags keep us from reading the object */
    if (JW_SECURE ? !slab_has_start(object, slab) : !slab_has_object(object, slab)) return false;
    *size = size_classes[slab->class].size;
    return true;
}

#endif
