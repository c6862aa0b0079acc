#include "frontend/allocator.h"

#include <errno.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/hooks.h"
#include "backend/huge.h"
#include "backend/reclaimer.h"
#include "backend/thrift.h"
#include "base/assert.h"
#include "base/misuse.h"
#include "config/options.h"
#include "frontend/suspect.h"
#include "midend/midend.h"
#include "platform/platform.h"
#include "platform/random.h"
#include "platform/tags.h"

/* NOT_STARTED -> STARTING -> STARTED; back to NOT_STARTED where there was no memory for the tables. The one place where
 * a thread waits for another: two threads whose first allocations, the first of the process, come at the same time. */
enum { NOT_STARTED, STARTING, STARTED };
static _Atomic(uint32_t) start_state;

static void before_fork(void) {
    backend_before_fork();
    midend_before_fork();
}

static void after_fork(void) {
    midend_after_fork(false);
    backend_after_fork(false);
}

static void after_fork_in_child(void) {
    if (JW_SECURE) random_forget(); /* its order is not the parent's */
    midend_after_fork(true);
    backend_after_fork(true);
    remote_reclaim_after_fork();
    heap_note_thread();
}

static COLD bool start(void) {
    if (JW_SECURE) tags_start();
    platform_start();
    reclaimer_begin();
    thrift_start();
    root_start();
    if (!map_start()) return false;
    options_read();
    if (JW_SECURE) hardened_hooks.start();
    midend_start();
    handover_start();
    return true;
}

COLD bool allocator_start(void) {
    for (;;) {
        /* [GO1] pairs [GO3]; client start_twice */
        uint32_t state = atomic_load_explicit(&start_state, memory_order_acquire);
        if (LIKELY(state == STARTED)) return true;
        if (state == STARTING) {
            platform_futex_wait(&start_state, STARTING, 1);
            continue;
        }
        /* [GO2] acquire: a start that failed is over; pairs [GO3]; client start_fails */
        if (!atomic_compare_exchange_strong_explicit(&start_state, &state, STARTING, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        bool started = start();
        /* [GO3] pairs [GO1] [GO2]; client start_twice */
        atomic_store_explicit(&start_state, started ? STARTED : NOT_STARTED, memory_order_release);
        return started;
    }
}

/* Registering fork handlers allocates, as the loader may, so it waits until the allocator is up. */
__attribute__((constructor)) static void start_with_the_program(void) {
    if (allocator_start()) {
        platform_learn();
        platform_on_fork(before_fork, after_fork, after_fork_in_child);
    }
    platform_settle();
}

static void *out_of_memory(void) {
    errno = ENOMEM;
    return NULL;
}

static COLD void *refill_without_memory(struct heap *heap, unsigned class) {
    heap_make_room(heap);
    void *object = heap_refill(heap, class);
    return object ? object : out_of_memory();
}

static void *refill(struct heap *heap, unsigned class) {
    void *object = heap_refill(heap, class);
    return LIKELY(object) ? object : refill_without_memory(heap, class);
}

/* A thread that has handed its heap over: for one object it takes a heap that has no thread. */
static void *allocate_after_the_end(unsigned class) {
    struct heap *heap = heap_take();
    if (!heap) return out_of_memory();
    void *object =
        link_end(heap->local[class].first) ? refill(heap, class) : heap_pop(&heap->local[class].first, heap->key);
    heap_retire(heap);
    return object;
}

static COLD void *allocate_without_heap(size_t size) {
    if (!allocator_start()) return out_of_memory();
    if (heap_thread_has_ended()) return allocate_after_the_end(size_class_of(size));
    return heap_attach() ? allocate(size) : out_of_memory();
}

static void *try_large(size_t size, size_t alignment, bool *zeroed) {
    *zeroed = false;
    void *object = NULL;
    struct heap *heap = thread.heap;
    if (size < BACKEND_MIN && alignment <= GRANULE_SIZE)
        object = midend_allocate(heap == &no_heap ? NULL : heap->holds, size, alignment);
    if (object) return object;
    size_t slack = alignment > GRANULE_SIZE ? alignment - GRANULE_SIZE : 0;
    if (size <= BACKEND_MAX && slack <= BACKEND_MAX - size) {
        object = backend_allocate(size, alignment, zeroed);
        if (LIKELY(object)) return object;
    }
    /* a range that is not to be had, because the window is full or a whole root is too much, may be a mapping */
    if ((size >= BACKEND_MIN || alignment > GRANULE_SIZE) && size <= PTRDIFF_MAX) {
        object = huge_allocate(size, alignment);
        *zeroed = true;
    }
    return object;
}

/* Above the frontend. */
static void *allocate_large(size_t size, size_t alignment, bool *zeroed) {
    if (UNLIKELY(!allocator_start())) return out_of_memory();
    void *object = try_large(size, alignment, zeroed);
    if (LIKELY(object)) return object;
    if (thread.heap == &no_heap || huge_good_size(size) == 0 || !thrift_may_help(size)) return out_of_memory();
    heap_flush(); /* a few empty slabs of ours may be what keeps whole roots */
    object = try_large(size, alignment, zeroed);
    return object ? object : out_of_memory();
}

/* Size 0, and what the midend has nothing for. */
static NOINLINE void *allocate_otherwise(size_t size) {
    bool zeroed;
    return LIKELY(size > 0) ? allocate_large(size, 1, &zeroed) : allocate(1);
}

/* For the holds' sake: without them each object costs a slab's way out of the Nest and back. NULL: none to be had. */
static COLD struct heap *heap_for_mid(void) {
    return allocator_start() && !heap_thread_has_ended() ? heap_attach() : NULL;
}

static NOINLINE void *allocate_mid(struct heap *heap, size_t size) {
    if (UNLIKELY(heap == &no_heap)) heap = heap_for_mid();
    void *object = LIKELY(heap) ? midend_allocate_anew(heap->holds, size) : NULL;
    return LIKELY(object) ? object : allocate_otherwise(size);
}

static NOINLINE void *allocate_small(struct heap *heap, size_t size, unsigned class) {
    if (UNLIKELY(heap == &no_heap)) return allocate_without_heap(size);
    return refill(heap, class);
}

void *allocate_slowly(struct heap *heap, size_t size, unsigned place) {
    if (place != NO_CLASS * SINK_WORDS) return allocate_small(heap, size, place / SINK_WORDS);
    if (UNLIKELY(size - 1 >= BACKEND_MIN - 1)) return allocate_otherwise(size);
    void *object = mid_allocate_held(heap->holds, size);
    return LIKELY(object) ? object : allocate_mid(heap, size);
}

/* Size of the smallest class of the frontend for these; 0: there is none. */
static NOINLINE size_t small_size(size_t alignment, size_t size) {
    if (size > FRONTEND_MAX) return 0;
    unsigned class = size_class_of(size);
    while (class < SIZE_CLASS_COUNT && size_class_alignment(class) < alignment) class ++;
    return class < SIZE_CLASS_COUNT ? size_classes[class].size : 0;
}

void *allocate_aligned(size_t alignment, size_t size) {
    if (size == 0) size = 1;
    if (alignment > 8 && size <= 8) size = 16;
    if (alignment <= 16) return allocate(size);
    size_t small = small_size(alignment, size);
    if (small) return allocate(small);
    bool zeroed;
    return allocate_large(size, alignment, &zeroed);
}

static NOINLINE void deallocate_not_held(void *object, uint32_t leaf) {
    if (!object) return;
    if (!map_owns(object)) {
        huge_free(object);
        return;
    }
    granule_id start = granule_of(object);
    if (leaf_kind(leaf) == INTERIOR) start -= leaf & ID_MASK;
    switch (leaf_kind(leaf_get(start))) {
    case MID:
        if (UNLIKELY(!midend_free(thread.heap->holds, object))) free_mid_suspect(object);
        return;
    case LARGE: backend_free(object); return;
    default: misuse(INVALID_FREE, object, 0);
    }
}

void deallocate_slowly(void *object, uint32_t leaf) {
    if (UNLIKELY(!mid_free_held(thread.heap->holds, object, leaf))) deallocate_not_held(object, leaf);
}

/* For the address of anything whose leaf word is `leaf`: false unless it is a small object. */
static ALWAYS_INLINE bool small_object_size(const void *object, uint32_t leaf, size_t *size) {
    const struct slab *slab = slab_of(object);
    if (!(leaf & LEAF_SLAB)) return false;
    /* the hardened build's trailers tell what is free, and its tags keep us from reading the object */
    if (JW_SECURE ? !slab_has_start(object, slab) : !slab_has_object(object, slab)) return false;
    *size = size_classes[slab->class].size;
    return true;
}

/* Of a small object whose first word may be a link. Where only another thread could tell, it counts as in use. */
static COLD size_t suspect_size(const void *object) {
    const struct slab *slab = slab_of(object);
    if (JW_SECURE || !slab_has_start(object, slab)) return 0;
    if (slab_has_link(object) && slab_has_key(slab, thread.key) && heap_lists(thread.heap, object)) return 0;
    return size_classes[slab->class].size;
}

static ALWAYS_INLINE size_t live_size(const void *object) {
    uint32_t leaf = leaf_of(object);
    size_t size = 0;
    if (small_object_size(object, leaf, &size)) return size;
    if (!map_owns(object)) return huge_usable_size(object);
    if (leaf & LEAF_SLAB) {
        size = suspect_size(object);
    } else {
        granule_id start = granule_of(object);
        if (leaf_kind(leaf) == INTERIOR) start -= leaf & ID_MASK;
        enum leaf_kind kind = leaf_kind(leaf_get(start));
        if (kind == MID) size = midend_usable_size(thread.heap->holds, object);
        if (kind == LARGE) size = backend_usable_size(object);
    }
    return size;
}

#if JW_SECURE
size_t size_if_live(const void *object) {
    return live_size(object);
}
#endif

size_t object_size(const void *object) {
    size_t size = live_size(object);
    if (size == 0) misuse(INVALID_POINTER, object, 0);
    return size;
}

/* What calloc clears of an object: all that the program may use (malloc_usable_size), so no old bytes come with it. In
 * the hardened build the program may use what it asked for. The size is asked for when no old word is there any more
 * that could look like a free object's. */
static void *clear(char *object, size_t size) {
    memset(object, 0, size);
    if (!JW_SECURE) memset(object + size, 0, object_size(object) - size);
    return object;
}

static NOINLINE void *allocate_zeroed_large(size_t size) {
    bool zeroed;
    char *object = allocate_large(size, 1, &zeroed);
    return object && !zeroed ? clear(object, size) : object;
}

void *allocate_zeroed(size_t size) {
    if (UNLIKELY(size >= BACKEND_MIN)) return allocate_zeroed_large(size);
    char *object = allocate(size);
    if (UNLIKELY(!object)) return NULL;
    if (UNLIKELY(size - 1 >= FRONTEND_MAX)) return clear(object, size);
    return memset(object, 0, size_classes[size_class_of(size)].size);
}

size_t good_size(size_t alignment, size_t size) {
    if (size > PTRDIFF_MAX || !allocator_start()) return 0;
    if (size == 0) size = 1;
    if (alignment > 8 && size <= 8) size = 16;
    size_t small = small_size(alignment > 16 ? alignment : 1, size);
    if (small) return small;
    if (size < BACKEND_MIN && alignment <= GRANULE_SIZE) return midend_good_size(size, alignment);
    size_t slack = alignment > GRANULE_SIZE ? alignment - GRANULE_SIZE : 0;
    return size <= BACKEND_MAX && slack <= BACKEND_MAX - size ? backend_good_size(size + slack) : huge_good_size(size);
}

_Atomic(bool) shrunk_in_place;

static ALWAYS_INLINE void *stay(void *object, size_t old, size_t good) {
    if (good != old && !atomic_load_explicit(&shrunk_in_place, memory_order_relaxed))
        atomic_store_explicit(&shrunk_in_place, true, memory_order_relaxed);
    return object;
}

static NOINLINE void *reallocate_elsewhere(void *object, size_t size, size_t old) {
    size_t length = size < old ? size : old;
    void *new = allocate(size);
    if (UNLIKELY(!new)) return NULL;
    memcpy(new, object, length); // NOLINT(clang-analyzer-core.NonNullParamChecker): realloc has looked
    deallocate(object);
    return new;
}

/* Where it is, or with its pages; NULL: the bytes must be copied. */
static void *resize_large(void *object, size_t size, size_t old) {
    bool fits = stays(old, size);
    if (huge_usable_size(object) > 0) return fits || size > BACKEND_MAX ? huge_resize(object, size) : NULL;
    bool cut = (fits || (size >= BACKEND_MIN && size < old)) && backend_shrink(object, size);
    return fits || cut ? object : NULL;
}

static NOINLINE void *reallocate_large(void *object, size_t size) {
    size_t old = object_size(object);
    if (size > PTRDIFF_MAX) return out_of_memory();
    void *resized = resize_large(object, size, old);
    /* with room to grow, or what could not be given back */
    if (resized) return stay(resized, object_size(resized), good_size(1, size));
    return reallocate_elsewhere(object, size, old);
}

void *reallocate(void *object, size_t size) {
    size_t old;
    if (UNLIKELY(!small_object_size(object, leaf_of(object), &old))) return reallocate_large(object, size);
    if (!stays(old, size)) return reallocate_elsewhere(object, size, old);
    return stay(object, old, size_classes[size_class_of(size)].size);
}
