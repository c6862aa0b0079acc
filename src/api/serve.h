/* serve.h - who serves the entry points: the allocator, or in the hardened build what stands around it. The only file
 * outside of hardened/ that includes one of its headers.
 */
#ifndef JW_SERVE_H
#define JW_SERVE_H

#include "base/compiler.h"

#if JW_SECURE
#include "hardened/entry.h"
#define SERVED(function) hardened_##function
#else
#include "core/allocator.h"
#define SERVED(function) function
#endif

static inline void *serve_zeroed(size_t size) {
    return SERVED(allocate_zeroed)(size);
}

static inline void *serve_aligned(size_t alignment, size_t size) {
    return SERVED(allocate_aligned)(alignment, size);
}

static inline void *serve_resized(void *object, size_t size) {
    return SERVED(reallocate)(object, size);
}

static inline size_t serve_object_size(const void *object) {
    return SERVED(object_size)(object);
}

static inline size_t serve_good_size(size_t size) {
    return SERVED(good_size)(1, size);
}

static inline void serve_free_sized(void *object, size_t alignment, size_t size) {
    SERVED(deallocate_sized)(object, alignment, size);
}

/* What the calling thread holds back goes to the allocator. */
static inline void serve_flush(void) {
#if JW_SECURE
    hardened_flush();
#endif
}

#endif
