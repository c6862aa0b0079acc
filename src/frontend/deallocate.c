/* deallocate.c - the hit paths of free: an object of the calling thread's heap, and one of another thread's. */
#include "frontend/allocator.h"

#include "base/misuse.h"

/* Misuse, unless the program has written what looks like a link, into an object that it may free. */
static COLD void free_doubtful(void *object) {
    if (!map_owns(object) || !slab_has_doubtful_object(object)) misuse(INVALID_FREE, object, 0);
    link_clear(object);
    deallocate(object);
}

static NOINLINE void free_to_full_slab(void *object) {
    struct slab *slab = slab_of(object);
    if (cross_push_slowly(&slab->cross, (char *)slab, object)) heap_return_slab(slab);
}

static ALWAYS_INLINE void free_remotely(void *object) {
    struct slab *slab = slab_of(object);
    if (UNLIKELY(!slab_has_object(object, &slab->cross_origin, slab->cross_reciprocal, slab->cross_bound))) {
        free_doubtful(object);
        return;
    }
    slab_fill(slab, object);
    if (UNLIKELY(!cross_push(&slab->cross, (char *)slab, object))) free_to_full_slab(object);
}

void deallocate(void *object) {
    uint32_t leaf = leaf_of(object);
    if (UNLIKELY(leaf != thread.tag)) {
        if (LIKELY((int32_t)leaf < 0)) free_remotely(object);
        else deallocate_slowly(object, leaf);
        return;
    }
    struct slab *slab = slab_of(object);
    if (UNLIKELY(!slab_has_object(object, &slab->origin, slab->reciprocal, slab->bound))) {
        free_doubtful(object);
        return;
    }
    slab_fill(slab, object);
    link_write(object, slab->freed);
    slab->freed = object;
    if (UNLIKELY(--slab->budget == 0)) heap_budget_spent(slab);
}

#if !JW_SECURE
JW_EXPORT void jw_free(void *object) __attribute__((alias("deallocate")));
#if JW_OVERRIDE
JW_EXPORT void free(void *object) __attribute__((alias("deallocate")));
#endif
#endif
