/* serve.h - chooses what serves the entry points: the allocator; in the hardened build hardened/entry.h; in a host that
 * is told of objects core/tracked.h. The prefixed library may stand beside a tool that has replaced malloc. Then that
 * malloc serves the entry points (for jw_malloc and jw_free: core/route.c). The only file outside hardened/ that
 * includes one of its headers.
 */
#ifndef JW_SERVE_H
#define JW_SERVE_H

#include "base/compiler.h"
#include "core/tracking.h"
#include "frontend/heap_collect.h"
#include "platform/tool.h"

#if JW_SECURE
#include "hardened/entry.h"
#define SERVED(function) hardened_##function
#elif TAGGED_ENTRIES
#include "core/tagged.h"
#define SERVED(function) tagged_##function
#elif TRACKED_ENTRIES
#include "core/tracked.h"
#define SERVED(function) tracked_##function
#else
#include "core/allocator.h"
#define SERVED(function) function
#endif

static inline void *serve_zeroed(size_t size) {
    if (replaced_by_tool()) return tool_allocate_zeroed(size);
    return SERVED(allocate_zeroed)(size);
}

static inline void *serve_aligned(size_t alignment, size_t size) {
    if (replaced_by_tool()) return tool_allocate_aligned(alignment, size);
    return SERVED(allocate_aligned)(alignment, size);
}

static inline void *serve_resized(void *object, size_t size) {
    if (replaced_by_tool()) return tool_reallocate(object, size);
    return SERVED(reallocate)(object, size);
}

static inline size_t serve_object_size(const void *object) {
    if (replaced_by_tool()) return tool_object_size(object);
    return SERVED(object_size)(object);
}

static inline size_t serve_good_size(size_t size) {
    return SERVED(good_size)(1, size);
}

static inline void serve_free_of_size(void *object, size_t size) {
    if (replaced_by_tool()) tool_free(object);
    else SERVED(free_of_size)(object, size);
}

static inline void serve_free_aligned(void *object, size_t alignment, size_t size) {
    if (replaced_by_tool()) tool_free(object);
    else SERVED(free_aligned_of_size)(object, alignment, size);
}

/* Drains the calling thread's heap, first of its quarantined objects. */
static inline void serve_drain(void) {
#if JW_SECURE
    hardened_drain();
#endif
    heap_drain_own();
}

#endif
