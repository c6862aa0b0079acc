/* new_contents.c - fills new objects (new_contents.h). */
#include "core/new_contents.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mitigations.h"
#include "config/options.h"
#include "config/policy.h"
#include "core/object_size.h"
#include "core/tagging.h"
#include "frontend/disable.h"
#include "frontend/size_map.h"
#include "frontend/thread_heap.h"
#include "platform/platform.h"

enum { LEAST = 8 }; /* bytes of the smallest object */

/* The object's size is read only after the first words are set: an old word could look like a free object's. */
void *fill_object(char *object, size_t size, int byte) {
    uint8_t *kept = tagged_last(object), last = kept ? *kept : 0;
    memset(object, byte, size);
    size_t usable = TRAILERS ? size : object_size(object);
    /* not of 0 bytes, for which a memset with AVX-512 took 150 ns */
    if (usable > size) memset(object + size, byte, usable - size);
    if (kept) *kept = last;
    return object;
}

/* SIZE_MAX: of no huge object, and perhaps of a tool's. */
COLD void *clear_object(char *object, size_t size, size_t dirty_bytes) {
    bool many = dirty_bytes > CLEARED_MOST && dirty_bytes < SIZE_MAX;
    if (many && platform_discard(object, object_size(object))) return object;
    return dirty_bytes < size ? memset(object, 0, dirty_bytes) : fill_object(object, size, 0);
}

COLD void *with_new_contents(void *object, size_t size, size_t dirty_bytes) {
    size_t init = option_init();
    if (!object || init == INIT_NONE) return object;
    if (size < LEAST) size = LEAST;
    return init == INIT_ZERO ? clear_object(object, size, dirty_bytes) : fill_object(object, size, FILL_PATTERN);
}

size_t with_new_end(char *object, size_t old) {
    size_t init = option_init(), size = object_size(object);
    /* the new pages of a huge object are zero */
    if (UNLIKELY(init != INIT_NONE) && size > old && (init == INIT_PATTERN || size <= BACKEND_MAX))
        memset(object + old, init == INIT_ZERO ? 0 : FILL_PATTERN, size - old);
    return size;
}
