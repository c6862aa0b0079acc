/* heap_refill.c - fills a local list, from the nearest slab that has objects. */
#include "frontend/heap_refill.h"

#include "config/policy.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_pool.h"
#include "frontend/heap_pop.h"
#include "frontend/heap_slabs.h"
#include "frontend/object_cache.h"
#include "frontend/partial_list.h"
#include "frontend/size_map.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_lists.h"
#include "platform/assert.h"

static ALWAYS_INLINE void *pop_refilled(struct heap *heap, unsigned class, void *first) {
    heap->local[class].first = first;
    heap->local[class].budget = heap->budget[class];
    object_cache_open(heap, class);
    return heap_pop(&heap->local[class].first, heap->key);
}

/* Refills from a slab without objects. */
static void *refill_anew(struct heap *heap, unsigned class) {
    struct slab *slab = heap_pop_empty(heap, class);
    if (!slab) slab = heap_fetch_slab(heap, class);
    if (!slab) return NULL;
    heap->in_use_count++;
    size_map_count_slab(heap, class);
    slab_set_state(slab, CURRENT);
    void *first = slab_refill_freed(slab);
    if (!first) { /* an empty slab has no cross list */
        free_target_set_budget(&slab->freed, slab->freed.budget + 1u);
        first = slab_link_batch(slab);
    }
    heap_make_current(heap, class, slab);
    return pop_refilled(heap, class, first);
}

/* Prefetches the slab's first object, for the next refill, and the record of the slab behind, for the refill after
 * that. If a class has many partial slabs, both have left the processor's caches since they were freed. */
static ALWAYS_INLINE void prefetch_next(const struct slab *slab) {
    if (!slab) return;
    __builtin_prefetch(slab->freed.first, 1);
    __builtin_prefetch(record_at(slab_id_get(&slab->freed.next)), 1);
}

/* Pops the first partial slab that no round works on. NULL: there is none among the first COLLECT_STEPS. */
static struct slab *next_partial(struct heap *heap, unsigned class) {
    for (unsigned left = COLLECT_STEPS; left > 0; left--) {
        struct slab *slab = partial_pop(&heap->partial[class]);
        if (!slab || LIKELY(slab_regain(slab, slab->freed.budget))) return slab;
        slab_set_state(slab, PARTIAL);
        partial_push(&heap->partial[class], slab);
    }
    return NULL;
}

static void *refill_slowly(struct heap *heap, unsigned class) {
    struct slab *slab = heap->current[class];
    if (slab) {
        do {
            void *first = slab_has_more(slab, class) ? slab_refill_slowly(slab) : NULL; /* the freed list is empty */
            if (first) return pop_refilled(heap, class, first);
        } while (!heap_make_full(heap, class, slab));
        heap_leave_current(heap, class);
    }
    heap_take_incoming(heap);
    slab = next_partial(heap, class);
    if (UNLIKELY(!slab)) return refill_anew(heap, class);
    prefetch_next(heap->partial[class]);
    void *first = slab_refill(slab);
    invariant(first); /* a partial slab has an object in one of its lists */
    heap_make_current(heap, class, slab);
    return pop_refilled(heap, class, first);
}

void *heap_refill(struct heap *heap, unsigned class) {
    invariant(link_is_end(heap->local[class].first));
    heap_maintain(heap);
    struct slab *slab = heap->current[class];
    void *first = slab ? slab_refill_freed(slab) : NULL;
    return first ? pop_refilled(heap, class, first) : refill_slowly(heap, class);
}
