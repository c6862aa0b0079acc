/* deallocate.c - the hit paths of free: an object of the calling thread's heap, and one of another thread's. */
#include "core/deallocate.h"

#include "core/free_suspect.h"
#include "core/route.h"
#include "core/sized.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_slabs.h"
#include "frontend/object_cache.h"
#include "frontend/slab_free.h"
#include "frontend/thread_heap.h"

/* The remote free of an object whose slab has the full mark, or after another thread changed the cross word. */
static NOINLINE void free_to_full_slab(void *object) {
    struct slab *slab = slab_of(object);
    if (cross_push_slowly(&slab->cross, slab_origin(slab), object, slab_key(slab))) heap_push_reopened(slab);
}

static ALWAYS_INLINE void free_remotely(struct slab *slab, void *object) {
    if (UNLIKELY(!slab_has_object(object, slab))) {
        free_suspect(object);
        return;
    }
    slab_fill(slab, object);
    if (UNLIKELY(!cross_push(&slab->cross, slab_origin(slab), object, slab_key(slab)))) free_to_full_slab(object);
}

static ALWAYS_INLINE void push_freed(const struct slab *slab, struct free_target *target, void *object, uint64_t key) {
    slab_fill(slab, object);
    free_target_push(target, object, key);
}

/* The budget of the class's local list has reached 0. */
static void free_to_spent_list(struct heap *heap, struct slab *slab, void *object) {
    if (object_cache_is_closed(heap, slab)) {
        object_cache_refuse(heap, slab);
        push_freed(slab, &slab->own, object, heap->key);
        heap_budget_spent(slab);
        return;
    }
    push_freed(slab, &heap->local[slab->class], object, heap->key);
    heap_maintain(heap);
    object_cache_renew_budget(heap, slab->class);
}

/* A budget has reached 0: the last object of a partial slab, the free that reopens a full one, the end of a local
 * list's budget; or misuse (slab_count_free). */
static NOINLINE void free_own_slowly(struct slab *slab, struct free_target *target, void *object) {
    if (UNLIKELY(slab_free_was_invalid(slab, target, object))) {
        /* undoes the count: only the owner writes the word, but rounds read it (remote_reclaim.h) */
        free_target_set_budget(target, target->budget + 1u);
        free_suspect(object);
    } else if (target != &slab->own) {
        free_to_spent_list(heap_of(slab), slab, object);
    } else {
        push_freed(slab, target, object, slab_key(slab));
        heap_budget_spent(slab);
    }
}

static ALWAYS_INLINE void free_own(struct slab *slab, void *object, uint64_t key) {
    struct free_target *target = slab->target;
    if (UNLIKELY(slab_count_free(slab, target, object))) free_own_slowly(slab, target, object);
    else push_freed(slab, target, object, key);
}

HIT_PATH void deallocate(void *object) {
    struct slab *slab = slab_of(object);
    uint64_t key = thread_key();
    if (LIKELY(slab_has_key(slab, key))) free_own(slab, object, key);
    else if (LIKELY(!slab_has_key(slab, 0))) free_remotely(slab, object);
    else deallocate_slowly(object, leaf_of(object));
}

/* A size of the slab's class is right: the rest is as in deallocate. An address that is in no slab may find any class
 * in its record, but key 0. */
HIT_PATH void deallocate_of_size(void *object, size_t size) {
    struct slab *slab = slab_of(object);
    uint64_t key = thread_key();
    bool right = size - 1 < FRONTEND_MAX && size_class_serves(slab->class, size);
    if (LIKELY(right && slab_has_key(slab, key))) free_own(slab, object, key);
    else if (LIKELY(right && !slab_has_key(slab, 0))) free_remotely(slab, object);
    else deallocate_sized(object, 1, size);
}

#if !JW_SECURE
JW_EXPORT void jw_free(void *object) __attribute__((alias("deallocate")));
#if JW_OVERRIDE
JW_EXPORT void free(void *object) __attribute__((alias("deallocate")));
#endif
#endif
