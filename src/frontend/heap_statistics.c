/* heap_statistics.c - what the heaps have in use and keep, counted while their threads work. */
#include "frontend/heap_statistics.h"

#include "backend/backend.h"
#include "backend/root.h"
#include "config/policy.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/heap_table.h"
#include "frontend/slab_lists.h"
#include "frontend/thread_heap.h"
#include "platform/platform.h"
#include "platform/tags.h"

/* Racy copy of fields that the slab's owner changes, on purpose. Hidden from TSan. */
__attribute__((no_sanitize("thread"))) static NOINLINE void slab_snapshot(const struct slab *slab, struct slab *view) {
    view->class = slab->class;
    atomic_init(&view->state, atomic_load_explicit(&slab->state, memory_order_relaxed));
    view->freed.budget = slab->freed.budget;
    view->linked = slab->linked;
    cross_init(&view->cross, cross_get(&slab->cross));
}

static void count_slab(const struct slab *slab, struct frontend_statistics *statistics) {
    struct slab view;
    slab_snapshot(slab, &view);
    unsigned class = view.class;
    struct cross_word word = cross_get(&view.cross);
    if (cross_is_taken(word) && !cross_is_kept(word)) {
        statistics->given_back += GRANULE_SIZE;
        return;
    }
    statistics->reserved += GRANULE_SIZE;
    statistics->pooled_slabs += slab_state(&view) == EMPTY;
    if (class >= SIZE_CLASS_COUNT) return;
    uint64_t used = slab_out(&view), waiting = cross_count(&view.cross), capacity = size_class_capacity(class);
    statistics->classes[class].slabs++;
    statistics->classes[class].capacity += capacity;
    if (used <= capacity && waiting <= used) statistics->classes[class].objects += used - waiting;
}

static void count_slabs(granule_id root, void *context) {
    if (!root_has_slabs(root)) return;
    for (granule_id id = root, step; id < root + ROOT_GRANULES; id += step) {
        struct leaf_word leaf = leaf_get(id);
        step = granules_to_next(id, leaf);
        /* relaxed: a record that is not formatted yet is no worse than that of a slab just given back */
        if (leaf_is_slab(leaf)) count_slab((const struct slab *)record_at(id), context);
    }
}

/* Counts the objects of a local list. Racy for another thread's heap: that thread changes the list meanwhile, and its
 * program writes to objects of it. So an address is followed only if it is an object's, in a slab of this heap. Such an
 * object can be read as long as its root exists (root_walk_begin). Hidden from TSan. */
__attribute__((no_sanitize("thread"))) static NOINLINE unsigned local_length(const struct heap *heap, unsigned class) {
    unsigned length = 0;
    uint64_t heeds = tags_pause();
    const void *object = heap->local[class].first;
    for (; length < LIST_MOST && !link_is_end(object) && page_map_owns(object) && leaf_is_slab(leaf_of(object));
         length++) {
        const struct slab *slab = slab_of(object);
        if (slab->class != class || !slab_has_key(slab, heap->key) || !slab_has_start(object, slab)) break;
        object = link_next(object, heap->key);
    }
    tags_heed(heeds);
    return length;
}

/* Objects in local lists are not given out. The hardened build may not read other threads' objects (guards, tags). */
static void subtract_local(const struct heap *heap, struct frontend_statistics *statistics) {
    if (!heap || (GUARDED && heap != thread_heap())) return;
    for (unsigned size_class = 0; size_class < SIZE_CLASS_COUNT; size_class++) {
        uint64_t local = local_length(heap, size_class), *objects = &statistics->classes[size_class].objects;
        *objects -= local < *objects ? local : *objects;
    }
}

/* Takes off the objects that a mid cache holds: `most - room`, if it holds any. */
__attribute__((no_sanitize("thread"))) static NOINLINE void subtract_cache(const struct mid_cache *cache,
                                                                           struct midend_statistics *statistics) {
    unsigned class_plus_1 = cache->class_plus_1, cached = cache->cached ? cache->most - cache->room : 0;
    if (class_plus_1 - 1 >= statistics->class_count || cached > statistics->classes[class_plus_1 - 1].objects) return;
    statistics->classes[class_plus_1 - 1].objects -= cached;
    statistics->in_use -= cached * statistics->classes[class_plus_1 - 1].size;
}

COLD void heap_subtract_cached_objects(struct midend_statistics *statistics) {
    for (uint32_t number = 1; number <= heap_count(); number++) {
        const struct heap *heap = heap_by_number(number);
        if (!heap || heap == thread_heap()) continue;
        for (unsigned i = 0; i < MID_CACHES; i++) subtract_cache(&heap->mid_caches[i], statistics);
    }
}

COLD void heap_subtract_cached_ranges(struct backend_statistics *statistics) {
    uint64_t bytes = 0;
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *heap = heap_by_number(number);
        if (heap) bytes += range_cache_granules(&heap->range_cache) << JW_GRANULE_SHIFT;
    }
    statistics->in_use -= bytes < statistics->in_use ? bytes : statistics->in_use;
    statistics->cached_mapped += bytes;
}

_Static_assert(SIZE_CLASS_COUNT <= SMALL_CLASSES_MOST, "each class has its statistics");

void frontend_statistics(struct frontend_statistics *statistics) {
    *statistics = (struct frontend_statistics){
        .class_count = SIZE_CLASS_COUNT,
        .abandoned_heaps = heap_abandoned_count(),
        .metadata = heap_count() * sizeof(struct heap),
    };
    statistics->heaps = heap_count() - statistics->abandoned_heaps;
    for (unsigned size_class = 0; size_class < SIZE_CLASS_COUNT; size_class++)
        statistics->classes[size_class].size = size_classes[size_class].size;
    if (root_walk_begin_or_wait()) {
        page_map_walk(count_slabs, statistics);
        for (uint32_t number = 1; number <= heap_count(); number++) subtract_local(heap_by_number(number), statistics);
        root_walk_end();
    }
    for (unsigned size_class = 0; size_class < SIZE_CLASS_COUNT; size_class++)
        statistics->in_use += statistics->classes[size_class].objects * size_classes[size_class].size;
}
