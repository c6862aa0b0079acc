/* route_free.c - the slow path of free: finds the tier of an address.
 *
 *   large   free_large       the start of a range: into the range cache, else free_uncached
 *   mid     mid_cache_free   into the mid cache, else free_uncached
 *           free_uncached    all others but NULL: free_by_kind, after the disabler if there is one (disable.h)
 */
#include "core/route_free.h"

#include "backend/huge.h"
#include "backend/large_object.h"
#include "core/free_suspect.h"
#include "core/sealed.h"
#include "core/watch.h"
#include "frontend/disable.h"
#include "frontend/thread_heap.h"
#include "midend/midend.h"
#include "platform/misuse.h"
#include "platform/tool.h"

static void *free_by_kind(void *object, size_t unused) {
    (void)unused;
    if (replaced_by_tool()) {
        tool_free(object);
        return NULL;
    }
    if (!page_map_owns(object)) {
        if (!JW_SEAL || !sealed_free(object)) huge_free(object);
        return NULL;
    }
    switch (object_kind(object, leaf_of(object))) {
    case MID: {
        bool freed;
        do freed = midend_free(thread_heap()->mid_caches, object);
        while (UNLIKELY(!freed) && mid_suspect_may_be_freed(object));
        break;
    }
    case LARGE: large_free(object); break;
    default: misuse(INVALID_FREE, object, 0);
    }
    return NULL;
}

static NOINLINE void free_uncached(void *object) {
    if (!object) return;
    disable_wait();
    watch_call(SLOW_FREE, free_by_kind, object, 0);
}

static NOINLINE void free_large(void *object) {
    granule_id range = large_try_begin_free(object);
    if (LIKELY(range)) large_cache(&thread_heap()->range_cache, range);
    else free_uncached(object);
}

void free_slowly(void *object, struct leaf_word leaf) {
    if (RANGE_CACHE_WAYS > 0 && leaf_same(leaf, leaf_large(0))) free_large(object);
    else if (UNLIKELY(!mid_cache_free(thread_heap()->mid_caches, object, leaf))) free_uncached(object);
}
