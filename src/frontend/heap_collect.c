/* heap_collect.c - looks for slabs whose objects have all come back. */
#include "frontend/heap_collect.h"

#include <limits.h>

#include "backend/root.h"
#include "backend/thrift.h"
#include "backend/timed_purge.h"
#include "frontend/heap_pool.h"
#include "frontend/heap_slabs.h"
#include "frontend/object_cache.h"
#include "frontend/slab_links.h"
#include "frontend/slab_lists.h"
#include "frontend/thread_heap.h"
#include "midend/midend.h"

static NOINLINE void collect_partial(struct heap *heap, unsigned class, unsigned most) {
    for (struct slab *slab = heap->partial[class], *next; slab && most > 0; slab = next, most--) {
        next = slab_by_id(&slab->freed.next);
        heap_collect_if_empty(heap, slab);
    }
}

/* Whether all objects of a current slab are in its lists. False as well if the answer takes more than `most` steps. */
static bool current_is_free(const struct slab *slab, const void *local, unsigned most) {
    uint32_t elsewhere = slab->freed.budget - 1u - cross_count(&slab->cross);
    if (elsewhere > most) return false;
    for (; elsewhere > 0 && !link_is_end(local); elsewhere--) local = slab_next(local, slab_key(slab));
    return elsewhere == 0 && link_is_end(local);
}

static NOINLINE void collect_current(struct heap *heap, unsigned class, unsigned most) {
    struct slab *slab = heap->current[class];
    void *local = heap->local[class].first;
    if (!slab || !current_is_free(slab, local, most)) return;
    if (!link_is_end(local)) slab_move_to_freed(slab, local);
    slab_drain_cross(slab);
    heap->current[class] = NULL;
    heap->local[class].first = LINK_END;
    slab->target = &slab->freed;
    heap_make_empty(heap, slab);
}

/* Collects one class, so that no call takes long. */
static NOINLINE void collect_some(struct heap *heap) {
    heap_take_incoming(heap);
    heap->collected_class = (heap->collected_class + 1) % SIZE_CLASS_COUNT;
    if (size_classes[heap->collected_class].cache_room > 0) object_cache_drain(heap, heap->collected_class);
    collect_partial(heap, heap->collected_class, COLLECT_STEPS);
    collect_current(heap, heap->collected_class,
                    heap->maintenance_ticks % COLLECT_LONG_PERIOD == 0 ? COLLECT_LONG_STEPS : COLLECT_STEPS);
    if (heap->maintenance_ticks % KEEP_PERIOD == 0) {
        midend_collect(heap->mid_caches);
        pool_count_unused(&heap->pool);
    }
    heap_place_empty(heap, pool_take_unused(&heap->pool, GIVE_AT_ONCE));
    thrift_take_turn();
}

void heap_maintain(struct heap *heap) {
    if (UNLIKELY(++heap->maintenance_ticks % COLLECT_PERIOD == 0)) collect_some(heap);
}

void heap_take_all_incoming(struct heap *heap) {
    if (heap_has_suspects(heap)) heap_settle_suspects(heap);
    heap_take_reopened(heap, UINT_MAX); /* the slabs taken off the stack before; then those pushed since */
    heap_take_reopened(heap, UINT_MAX);
}

static void collect_class(struct heap *heap, unsigned class, enum collect depth) {
    if (size_classes[class].cache_room > 0) object_cache_drain(heap, class);
    collect_partial(heap, class, depth == COLLECT_ALL ? UINT_MAX : COLLECT_STEPS);
    collect_current(heap, class, UINT_MAX);
}

void heap_collect(struct heap *heap, enum collect depth) {
    midend_drain(heap->mid_caches);
    heap_take_all_incoming(heap);
    for (unsigned class = SIZE_CLASS_COUNT; class -- > 0;) { /* those with few objects first: their lists are short */
        collect_class(heap, class, depth);
        if (depth == COLLECT_WHILE_FREE && (heap->current[class] || heap->partial[class])) return;
    }
}

bool heap_purge_own(struct purge *purge) {
    struct heap *heap = thread_heap();
    if (heap == &no_heap) return true;
    if (purge->place == 0) {
        midend_drain(heap->mid_caches);
        heap_take_all_incoming(heap);
    }
    while (purge->place < SIZE_CLASS_COUNT) {
        collect_class(heap, purge->place++, COLLECT_ALL);
        if (purge_is_over(purge)) return false;
    }
    return true;
}

static COLD void open_full_slabs(granule_id root, void *context) {
    struct heap *heap = context;
    if (!root_has_slabs(root)) return;
    for (granule_id id = root, step; id < root + ROOT_GRANULES; id += step) {
        struct leaf_word leaf = leaf_get(id);
        struct slab *slab = record_at(id);
        step = granules_to_next(id, leaf);
        /* reads the leaf first: the table of leaves is small. A slab that was given back may keep its leaf, but not its
         * key */
        if (!leaf_same(leaf, leaf_slab(heap->number)) || !slab_has_key(slab, heap->key)) continue;
        if (slab_state(slab) != FULL) continue;
        if (!link_is_end(slab->freed.first)) heap_open_slab(heap, slab);
        else if (size_classes[slab->class].frees_until_reopen > 1) heap_want_slab(slab);
    }
}

COLD void heap_collect_at_shortage(struct heap *heap) {
    if (!heap->wants_slabs) page_map_walk(open_full_slabs, heap);
    heap->wants_slabs = true;
    heap_collect(heap, COLLECT_ALL);
}

void heap_drain(struct heap *heap) {
    heap_collect(heap, COLLECT_ALL);
    heap_place_pool(heap, false);
}

void heap_drain_own(void) {
    if (thread_heap() != &no_heap) heap_drain(thread_heap());
}
