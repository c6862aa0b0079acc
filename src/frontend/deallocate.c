/* deallocate.c - the hit paths of free: an object of the calling thread's heap, and one of another thread's. */
#include "frontend/allocator.h"

#include "base/misuse.h"

static COLD void not_an_object(const void *object) {
    const struct slab *slab = slab_of(object);
    if (!map_owns(object)) misuse("invalid free", object, "not allocated here");
    if (slab->bound == 0) misuse("double free", object, "its slab is empty");
    misuse("invalid free", object, "not at the start of an object in its slab");
}

static NOINLINE void free_to_full_slab(void *object) {
    struct slab *slab = slab_of(object);
    if (cross_push_slowly(&slab->cross, (char *)slab, object)) heap_return_slab(slab);
}

static ALWAYS_INLINE void free_remotely(void *object) {
    struct slab *slab = slab_of(object);
    if (UNLIKELY(!slab_has_object(object, slab->cross_origin, slab->cross_reciprocal, slab->cross_bound))) {
        not_an_object(object);
        return;
    }
    if (UNLIKELY(!cross_push(&slab->cross, (char *)slab, object))) free_to_full_slab(object);
}

JW_EXPORT void jw_free(void *object) {
    uint32_t leaf = leaf_of(object);
    if (UNLIKELY(leaf != thread_tag)) {
        if (LIKELY((int32_t)leaf < 0)) free_remotely(object);
        else deallocate_slowly(object, leaf);
        return;
    }
    struct slab *slab = slab_of(object);
    if (UNLIKELY(!slab_has_object(object, slab->origin, slab->reciprocal, slab->bound))) {
        not_an_object(object);
        return;
    }
    *(void **)object = slab->freed;
    slab->freed = object;
    if (UNLIKELY(--slab->budget == 0)) heap_budget_spent(slab);
}

#if JW_OVERRIDE
JW_EXPORT void free(void *object) __attribute__((alias("jw_free")));
#endif
