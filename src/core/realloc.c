/* realloc.c - objects that change their size: in place, by moving pages, or by a copy. */
#include "core/realloc.h"

#include <errno.h>
#include <string.h>

#include "backend/huge.h"
#include "backend/large_object.h"
#include "core/aligned.h"
#include "core/allocate.h"
#include "core/free.h"
#include "core/limit.h"
#include "core/new_contents.h"
#include "core/object_size.h"
#include "core/route.h"
#include "frontend/disable.h"

_Atomic(bool) shrunk_in_place, shrunk_without_memory;

static ALWAYS_INLINE void *keep_in_place(void *object, bool as_new) {
    if (!as_new && !atomic_load_explicit(&shrunk_in_place, memory_order_relaxed))
        atomic_store_explicit(&shrunk_in_place, true, memory_order_relaxed);
    return object;
}

static NOINLINE void *reallocate_elsewhere(void *object, size_t size, size_t old) {
    size_t length = size < old ? size : old;
    void *new = allocate(size);
    if (UNLIKELY(!new)) return NULL;
    memcpy(new, object, length); // NOLINT(clang-analyzer-core.NonNullParamChecker): realloc has looked
    free_object(object);
    return new;
}

static void note_no_memory(void) {
    atomic_store_explicit(&shrunk_without_memory, true, memory_order_relaxed);
}

/* A smaller copy of a small object. Where there is no memory the object serves; the callback is not asked. */
static NOINLINE void *shrink_small(void *object, size_t size, size_t old) {
    int before = errno;
    bool calls_back = limit_hold(true);
    void *new = reallocate_elsewhere(object, size, old);
    limit_hold(calls_back);
    if (LIKELY(new)) return new;
    errno = before;
    note_no_memory();
    return object;
}

/* In place or by moving pages; NULL: the bytes must be copied. `copies`: there is memory for a copy, as far as is
 * known; without, a smaller size stays in place. */
static void *resize_above_small(void *object, size_t size, size_t old, bool copies) {
    bool fits = may_keep_in_place(old, size) || (!copies && size <= old);
    size_t huge = huge_usable_size(object);
    if (huge > 0) return fits || size > old || size > BACKEND_MAX ? huge_resize(object, huge, size) : NULL;
    bool resized =
        size > old ? !GUARDED && large_grow(object, size) : (fits || size >= BACKEND_MIN) && large_shrink(object, size);
    /* the steps between the sizes of an aligned object may be larger than the new size: then a copy takes less */
    return fits || (resized && may_keep_in_place(large_usable_size(object), size)) ? object : NULL;
}

/* In place, by moving pages, or by a copy. */
static void *resize_or_copy(void *object, size_t size, size_t old, bool copies) {
    void *resized = resize_above_small(object, size, old, copies);
    if (!resized) return reallocate_elsewhere(object, size, old);
    /* the object may be larger than a new one: room to grow, or memory that the OS did not take back */
    if (with_new_end(resized, old) != good_size(1, size))
        atomic_store_explicit(&shrunk_in_place, true, memory_order_relaxed);
    return resized;
}

static NOINLINE void *reallocate_above_small(void *object, size_t size) {
    disable_wait();
    if (large_serves(object, size)) return object;
    size_t old = object_size(object);
    if (old == good_size(1, size)) return object; /* a new one would be as large */
    int before = errno;
    for (bool asked = false;; asked = true) {
        /* the callback's memory may do for the object's growth, though not for a copy */
        bool calls_back = limit_hold(true);
        void *resized = resize_or_copy(object, size, old, !asked);
        limit_hold(calls_back);
        if (UNLIKELY(asked) && resized) errno = before;
        if (LIKELY(resized) || asked) return resized;
        if (size <= old) note_no_memory(); /* then it stays in place */
        else if (!room_may_help(size, 1) || !limit_ask(size)) return NULL;
    }
}

void *reallocate(void *object, size_t size) {
    size_t old;
    if (UNLIKELY(!small_object_size(object, leaf_of(object), &old))) return reallocate_above_small(object, size);
    if (!may_keep_in_place(old, size)) return (size > old ? reallocate_elsewhere : shrink_small)(object, size, old);
    return keep_in_place(object, size_class_serves(slab_of(object)->class, size));
}
