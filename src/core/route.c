/* route.c - the slow path of malloc: finds the tier of a size.
 *
 *     small   allocate_small          heap_refill; without a heap: attach one
 *   allocate_unlisted
 *     mid     midend_allocate_cached, then allocate_mid: the thread's other ways in the midend
 *     large   allocate_large          the thread's range cache
 *             allocate_uncached       mid and large sizes that found nothing until here, and huge ones
 *               allocate_above_small  attaches a heap for the next ones; try_tiers; again when this thread's empty
 *                                     slabs are back
 */
#include "core/route.h"

#include <errno.h>

#include "backend/huge.h"
#include "backend/large_object.h"
#include "backend/mapping_cache.h"
#include "backend/thrift.h"
#include "config/options.h"
#include "core/limit.h"
#include "core/new_contents.h"
#include "core/start.h"
#include "core/watch.h"
#include "frontend/disable.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/heap_pop.h"
#include "frontend/heap_refill.h"
#include "frontend/heap_shortage.h"
#include "frontend/size_map.h"
#include "frontend/thread_heap.h"
#include "midend/midend.h"
#include "platform/instructions.h"
#include "platform/tool.h"

void *out_of_memory(void) {
    errno = ENOMEM;
    return NULL;
}

wide_bool room_may_help(size_t size, size_t alignment) {
    size_t addresses = large_fits(size, alignment) ? size : huge_addresses(size, alignment);
    return addresses > 0 && thrift_may_help(addresses);
}

/* Looks at everything, and asks the program for memory (limit.h). Its callback may have freed to the local list. */
static COLD void *refill_without_memory(struct heap *heap, unsigned class) {
    void *object = NULL;
    for (bool asked = false; !object; asked = true) {
        if (asked || !heap_fails_at_once(heap)) {
            heap_collect_at_shortage(heap);
            thrift_make_room(ROOT_SIZE);
            if (!link_is_end(heap->local[class].first)) return heap_pop_slowly(heap, list_of_class(class));
            object = heap_refill(heap, class);
            if (!object) heap_note_shortage(heap);
        }
        if (!object && (asked || !limit_ask(size_classes[class].size))) return out_of_memory();
    }
    return object;
}

static void *refill_small(void *heap, size_t class) {
    void *object = heap_refill(heap, (unsigned)class);
    return LIKELY(object) ? object : refill_without_memory(heap, (unsigned)class);
}

/* Allocates a small object where the local list may have objects. */
static NOINLINE void *pop_or_allocate(struct heap *heap, size_t size) {
    unsigned class = size_map_class(heap, size); /* the map itself may say DISABLED */
    if (!link_is_end(heap->local[class].first)) return heap_pop_slowly(heap, list_of_class(class));
    return allocate_small(heap, size, class);
}

/* Serves a thread that has given up its heap: takes an abandoned heap for one object. */
static void *allocate_after_the_end(size_t size) {
    struct heap *heap = heap_take_or_create();
    if (!heap) return out_of_memory();
    void *object = pop_or_allocate(heap, size);
    heap_abandon(heap);
    return with_new_contents(object, size, SIZE_MAX);
}

static COLD void *allocate_without_heap(size_t size) {
    if (replaced_by_tool()) return tool_allocate(size);
    if (!allocator_start()) return out_of_memory();
    if (heap_thread_has_ended()) return allocate_after_the_end(size);
    struct heap *heap = heap_attach();
    return heap ? with_new_contents(pop_or_allocate(heap, size), size, SIZE_MAX) : out_of_memory();
}

/* A large object where freed mappings wait: a range that may have pages, or else such a mapping, whose pages serve
 * again. NULL: neither is there. */
static NOINLINE void *allocate_with_pages(size_t size, size_t *dirty_bytes) {
    void *object = large_allocate_mapped(size);
    return object ? object : huge_reuse(large_good_size(size), dirty_bytes);
}

static void *try_tiers(size_t size, size_t alignment, size_t *dirty_bytes) {
    bool zeroed;
    *dirty_bytes = SIZE_MAX;
    void *object = NULL;
    struct heap *heap = thread_heap();
    if (tier_of(size) < TIER_LARGE && alignment <= GRANULE_SIZE)
        object = midend_allocate(heap == &no_heap ? NULL : heap->mid_caches, size, alignment);
    if (object) return object;
    if (large_fits(size, alignment)) {
        if (size >= JW_MAPPED_FROM && alignment <= GRANULE_SIZE && mapping_cache_bytes() > 0 &&
            (object = allocate_with_pages(size, dirty_bytes)))
            return object;
        object = large_allocate(size, alignment, &zeroed);
        if (LIKELY(object)) {
            if (zeroed) *dirty_bytes = 0;
            return object;
        }
    }
    /* if there is no range (the window is full, or no memory for a whole root), a mapping serves */
    return size <= PTRDIFF_MAX ? huge_allocate(size, alignment, dirty_bytes) : NULL;
}

/* Attaches a heap, for its mid caches and its range cache. Without them each object would take a slab or a range out of
 * the Nest and place it again. NULL: the thread gets no heap. */
static COLD struct heap *attach_for_caches(void) {
    return allocator_start() && !heap_thread_has_ended() ? heap_attach() : NULL;
}

/* Requests above the frontend's sizes, and smaller ones with alignments that no small class has. */
void *allocate_above_small(size_t size, size_t alignment, size_t *dirty_bytes) {
    disable_wait();
    *dirty_bytes = SIZE_MAX; /* also of a tool's object */
    if (UNLIKELY(thread_heap() == &no_heap)) {
        if (replaced_by_tool()) return tool_allocate(size);
        if (!allocator_start()) return out_of_memory();
        if (RANGE_CACHE_WAYS > 0 && size <= BACKEND_MAX) attach_for_caches();
    }
    for (unsigned tries = 0;; tries++) {
        void *object = try_tiers(size, alignment, dirty_bytes);
        if (LIKELY(object)) {
            if (option_init() == INIT_NONE) return object;
            size_t dirty = *dirty_bytes;
            if (option_init() == INIT_PATTERN) *dirty_bytes = SIZE_MAX;
            return with_new_contents(object, size, dirty);
        }
        bool again = tries == 0 ? room_may_help(size, alignment) : tries == 1 && limit_ask(size);
        if (!again) return out_of_memory();
        heap_drain_own(); /* a few empty slabs of this thread may keep whole roots */
    }
}

/* Serves requests that neither the midend nor the range cache has served. */
static NOINLINE void *allocate_uncached(void *unused, size_t size) {
    size_t dirty_bytes;
    (void)unused;
    return allocate_above_small(size, 1, &dirty_bytes);
}

static NOINLINE void *allocate_large(struct heap *heap, size_t size) {
    void *object = NULL;
    if (RANGE_CACHE_WAYS > 0 && LIKELY(size <= BACKEND_MAX)) object = large_allocate_cached(&heap->range_cache, size);
    return LIKELY(object) ? object : watch_call(SLOW_LARGE, allocate_uncached, NULL, size);
}

static void *allocate_for_disabled(struct heap *heap, size_t size) {
    return size - 1 < FRONTEND_MAX ? pop_or_allocate(heap, size) : allocate_unlisted(heap, size);
}

/* Allocates where new objects have chosen contents (new_contents.h). */
static COLD void *allocate_filled(struct heap *heap, size_t size) {
    disable_wait();
    if (size > BACKEND_MAX) return allocate_uncached(NULL, size); /* which fills */
    return with_new_contents(allocate_for_disabled(heap, size), size, SIZE_MAX);
}

/* Serves a heap whose map sends each size to DISABLED: writes the map anew, and may wait (disable.h). */
static COLD void *allocate_later(struct heap *heap, size_t size) {
    if (option_init() != INIT_NONE) return allocate_filled(heap, size);
    size_map_write(heap);
    return allocate_for_disabled(heap, size);
}

/* The largest sizes below BACKEND_MIN have no mid class: they are large objects. */
static NOINLINE void *allocate_mid(void *own_heap, size_t size) {
    struct heap *heap = own_heap;
    if (UNLIKELY(heap == &no_heap)) {
        if (replaced_by_tool()) return tool_allocate(size);
        heap = attach_for_caches();
        if (heap && option_init() != INIT_NONE) return allocate_filled(heap, size);
    }
    if (UNLIKELY(!heap)) return allocate_uncached(NULL, size);
    void *object = midend_allocate_uncached(heap->mid_caches, size);
    return LIKELY(object) ? object : allocate_large(heap, size);
}

NOINLINE void *allocate_small(struct heap *heap, size_t size, unsigned class) {
    if (UNLIKELY(heap == &no_heap)) return allocate_without_heap(size);
    if (UNLIKELY(class == DISABLED)) return allocate_later(heap, size);
    return watch_call(SLOW_SMALL, refill_small, heap, class);
}

NOINLINE void *allocate_unlisted(struct heap *heap, size_t size) {
    /* a large or huge size, or size 0, which wraps; size 0 gets an object of size 1's class */
    if (UNLIKELY(size - 1 >= BACKEND_MIN - 1))
        return LIKELY(size > 0) ? allocate_large(heap, size) : pop_or_allocate(heap, 1);
    /* a mid size */
    void *object = midend_allocate_cached(heap->mid_caches, size);
    return LIKELY(object) ? object : watch_call(SLOW_MID, allocate_mid, heap, size);
}
