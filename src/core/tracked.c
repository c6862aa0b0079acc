/* tracked.c - a plain core's entry points that tell the host of objects (tracked.h). */
#include "core/tracked.h"

#include "core/tracking.h"
#include "platform/features.h"

#if TRACKED_ENTRIES && !TAGGED_ENTRIES

JW_EXPORT void *jw_malloc(size_t size) {
    return track_allocated(allocate(size), size);
}

JW_EXPORT void jw_free(void *object) {
    track_freed(object);
    free_object(object);
}

void *tracked_allocate_zeroed(size_t size) {
    return track_allocated(allocate_zeroed(size), size);
}

void *tracked_allocate_aligned(size_t alignment, size_t size) {
    return track_allocated(allocate_aligned(alignment, size), size);
}

void *tracked_reallocate(void *object, size_t size) {
    if (!is_tracking()) return reallocate(object, size);
    size_t old = object_size(object);
    track_freed(object);
    return track_resized(object, old, reallocate(object, size), size);
}

void tracked_free_of_size(void *object, size_t size) {
    track_freed(object);
    free_of_size(object, size);
}

void tracked_free_aligned_of_size(void *object, size_t alignment, size_t size) {
    track_freed(object);
    free_aligned_of_size(object, alignment, size);
}

#if JW_OVERRIDE
JW_EXPORT void *malloc(size_t size) __attribute__((alias("jw_malloc")));
JW_EXPORT void free(void *object) __attribute__((alias("jw_free")));
SECOND_NAME(malloc, jw_malloc);
SECOND_NAME(free, jw_free);
#endif

#endif
