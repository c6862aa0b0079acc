/* zeroed.c - objects whose bytes are 0. */
#include "core/zeroed.h"

#include <string.h>

#include "core/allocate.h"
#include "core/object_size.h"
#include "core/route.h"

/* Clears all bytes that the program may use (malloc_usable_size), so that the program sees no old bytes. In the
 * hardened build it may use only the size that it asked for. The object's size is read only after the first words are
 * cleared: an old word could look like a free object's. */
static void *clear_object(char *object, size_t size) {
    memset(object, 0, size);
    if (!TRAILERS) memset(object + size, 0, object_size(object) - size);
    return object;
}

static NOINLINE void *allocate_zeroed_large(size_t size) {
    size_t dirty_bytes;
    char *object = allocate_above_small(size, 1, &dirty_bytes);
    if (!object || dirty_bytes == 0) return object;
    return dirty_bytes < size ? memset(object, 0, dirty_bytes) : clear_object(object, size);
}

void *allocate_zeroed(size_t size) {
    if (UNLIKELY(tier_of(size) >= TIER_LARGE)) return allocate_zeroed_large(size);
    char *object = allocate(size);
    if (UNLIKELY(!object)) return NULL;
    if (UNLIKELY(size - 1 >= FRONTEND_MAX)) return clear_object(object, size);
    return memset(object, 0, size_classes[slab_of(object)->class].size);
}
