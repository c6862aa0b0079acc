/* tracked.h - the entry points of a plain core that tells its host of objects (core/tracking.h), around those of
 * core/allocator.h. malloc and free are there, too, under their exported names. */
#ifndef JW_TRACKED_H
#define JW_TRACKED_H

#include "core/allocator.h"

/* Like the functions of core/allocator.h. */
void *tracked_allocate_zeroed(size_t size);
void *tracked_allocate_aligned(size_t alignment, size_t size);
void *tracked_reallocate(void *object, size_t size);
void tracked_free_of_size(void *object, size_t size);
void tracked_free_aligned_of_size(void *object, size_t alignment, size_t size);

static inline size_t tracked_object_size(const void *object) {
    return object_size(object);
}

static inline size_t tracked_good_size(size_t alignment, size_t size) {
    return good_size(alignment, size);
}

#endif
