/* serve.h - who serves the entry points: the allocator, or in the hardened build the shield around it. */
#ifndef JW_SERVE_H
#define JW_SERVE_H

#include "shield/shield.h"

static inline void *serve_zeroed(size_t size) {
    return JW_SECURE ? shield_allocate_zeroed(size) : allocate_zeroed(size);
}

static inline void *serve_aligned(size_t alignment, size_t size) {
    return JW_SECURE ? shield_allocate_aligned(alignment, size) : allocate_aligned(alignment, size);
}

static inline void *serve_resized(void *object, size_t size) {
    return JW_SECURE ? shield_reallocate(object, size) : reallocate(object, size);
}

static inline size_t serve_object_size(const void *object) {
    return JW_SECURE ? shield_object_size(object) : object_size(object);
}

static inline size_t serve_good_size(size_t size) {
    return JW_SECURE ? shield_good_size(size) : good_size(1, size);
}

static inline void serve_free_sized(void *object, size_t alignment, size_t size) {
    if (JW_SECURE) shield_deallocate_sized(object, alignment, size);
    else deallocate_sized(object, alignment, size);
}

#endif
