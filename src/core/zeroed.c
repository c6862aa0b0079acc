/* zeroed.c - objects whose bytes are 0. */
#include "core/zeroed.h"

#include <string.h>

#include "backend/large_object.h"
#include "core/allocate.h"
#include "core/new_contents.h"
#include "core/route.h"
#include "frontend/disable.h"
#include "frontend/thread_heap.h"

static NOINLINE void *allocate_zeroed_large(size_t size) {
    size_t dirty_bytes = SIZE_MAX;
    char *object = NULL;
    disable_wait();
    /* memory that was written to, but has pages: clearing it costs less than the faults of new pages */
    if (RANGE_CACHE_WAYS > 0 && size <= BACKEND_MAX) object = large_allocate_cached(&thread_heap()->range_cache, size);
    if (!object) object = allocate_above_small(size, 1, &dirty_bytes);
    if (!object || dirty_bytes == 0) return object;
    return clear_object(object, size, dirty_bytes);
}

void *allocate_zeroed(size_t size) {
    if (UNLIKELY(tier_of(size) >= TIER_LARGE)) return allocate_zeroed_large(size);
    char *object = allocate(size);
    if (UNLIKELY(!object)) return NULL;
    if (UNLIKELY(size - 1 >= FRONTEND_MAX)) return fill_object(object, size, 0);
    return memset(object, 0, size_classes[slab_of(object)->class].size);
}
