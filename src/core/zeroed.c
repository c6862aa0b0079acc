/* zeroed.c - objects whose bytes are 0. */
#include "core/zeroed.h"

#include <string.h>

#include "core/allocate.h"
#include "core/new_contents.h"
#include "core/route.h"

static NOINLINE void *allocate_zeroed_large(size_t size) {
    size_t dirty_bytes;
    char *object = allocate_above_small(size, 1, &dirty_bytes);
    if (!object || dirty_bytes == 0) return object;
    return dirty_bytes < size ? memset(object, 0, dirty_bytes) : fill_object(object, size, 0);
}

void *allocate_zeroed(size_t size) {
    if (UNLIKELY(tier_of(size) >= TIER_LARGE)) return allocate_zeroed_large(size);
    char *object = allocate(size);
    if (UNLIKELY(!object)) return NULL;
    if (UNLIKELY(size - 1 >= FRONTEND_MAX)) return fill_object(object, size, 0);
    return memset(object, 0, size_classes[slab_of(object)->class].size);
}
