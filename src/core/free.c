/* free.c - the hit paths of free: an object of the calling thread's heap, and one of another thread's. */
#define READS_PAIRS
#define INLINE_ATOMICS 1 /* base/atomics.h */
#include "core/free.h"

#include "core/free_suspect.h"
#include "core/route_free.h"
#include "core/tracking.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_reopened.h"
#include "frontend/heap_slabs.h"
#include "frontend/heap_table.h"
#include "frontend/object_cache.h"
#include "frontend/thread_heap.h"
#include "platform/features.h"

static COLD void free_suspect(void *object) {
    struct leaf_word leaf = leaf_of(object);
    /* not the slab's: a larger object whose address leads to the slab's record, or an address that is no object's */
    if (!page_map_owns(object) || !leaf_is_slab(leaf)) free_slowly(object, leaf);
    /* its first word is no link any more, so the call does not come here again */
    else if (small_suspect_may_be_freed(object)) free_object(object);
}

static ALWAYS_INLINE void free_remotely(struct slab *slab, void *object) {
    if (UNLIKELY(!slab_has_object(object, slab))) {
        free_suspect(object);
        return;
    }
    slab_fill(slab, object);
    /* not pushed: the slab is marked full or watched, or another thread has changed the cross word */
    if (UNLIKELY(!cross_push(&slab->cross, slab_origin(slab), object, slab_key(slab)))) free_to_cross_list(object);
}

/* Frees an object whose class's local list has spent its budget. False, with nothing done: it must not go there. */
static bool free_to_spent_list(struct heap *heap, struct slab *slab, void *object) {
    if (object_cache_refuses(heap, slab)) return false;
    push_freed(slab, &heap->local[slab->class], object, heap->key);
    heap_maintain(heap);
    object_cache_renew_budget(heap, slab->class);
    return true;
}

NOINLINE void free_own_slowly(struct slab *slab, struct free_target *target, void *object) {
    if (UNLIKELY(slab_free_was_invalid(slab, target, object))) {
        /* undoes the count: only the owner writes the word, but rounds read it (remote_reclaim.h) */
        free_target_set_budget(target, target->budget + 1u);
        free_suspect(object);
        return;
    }
    struct heap *heap = thread_heap();
    /* after a fork in a signal handler the slab is another heap's (heap_fork.c) */
    if (UNLIKELY(!slab_has_key(slab, heap->key))) heap = heap_of(slab);
    if (target != &slab->freed) {
        if (free_to_spent_list(heap, slab, object)) return;
        object_cache_refuse(heap, slab);
    }
    push_freed(slab, &slab->freed, object, slab_key(slab));
    heap_budget_spent(heap, slab);
    heap_take_if_reopening(heap, slab);
}

HIT_PATH void free_object(void *object) {
    struct slab *slab = slab_of(object);
    uint64_t key = thread_key();
    if (LIKELY(slab_has_key(slab, key))) free_own(slab, object, key);
    else if (LIKELY(!slab_has_key(slab, 0))) free_remotely(slab, object);
    else free_slowly(object, leaf_of(object)); /* key 0: no slab of the frontend */
}

#if PLAIN_ENTRIES
JW_EXPORT void jw_free(void *object) __attribute__((alias("free_object")));
#if JW_OVERRIDE
JW_EXPORT void free(void *object) __attribute__((alias("free_object")));
SECOND_NAME(free, free_object);
#endif
#endif
