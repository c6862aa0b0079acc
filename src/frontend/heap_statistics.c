#include "backend/backend.h"
#include "backend/root.h"
#include "frontend/heap.h"
#include "platform/platform.h"

/* A moment's view of what a slab's owner works on, which no race detector needs to see. */
__attribute__((no_sanitize("thread"))) static NOINLINE void look(const struct slab *slab, struct slab *view) {
    view->class = slab->class;
    atomic_init(&view->state, atomic_load_explicit(&slab->state, memory_order_relaxed));
    view->own.budget = slab->own.budget;
    view->carved = slab->carved;
    atomic_init(&view->cross, atomic_load_explicit(&slab->cross, memory_order_relaxed));
}

static void count_slab(const struct slab *slab, struct frontend_statistics *statistics) {
    struct slab view;
    look(slab, &view);
    unsigned class = view.class;
    uint32_t word = atomic_load_explicit(&view.cross, memory_order_relaxed);
    if (cross_is_taken(word) && (word & CROSS_TAKEN) != CROSS_KEPT) {
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
    for (granule_id id = root; id < root + ROOT_GRANULES; id++)
        /* relaxed: a record that is not formatted yet is no worse than that of a slab just given back */
        if (leaf_get(id) & LEAF_SLAB) count_slab((const struct slab *)record_at(id), context);
}

/* What the calling thread's local lists hold is not given out. Of other threads' it counts as given out: only the owner
 * can tell. */
static void leave_out_local(struct frontend_statistics *statistics) {
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        uint64_t local = slab_list_length(thread.heap->local[class].first),
                 *objects = &statistics->classes[class].objects;
        *objects -= local < *objects ? local : *objects;
    }
}

void frontend_statistics(struct frontend_statistics *statistics) {
    *statistics = (struct frontend_statistics){
        .class_count = SIZE_CLASS_COUNT,
        .resting_heaps = heap_resting_count(),
        .metadata = heap_count() * sizeof(struct heap),
    };
    statistics->heaps = heap_count() - statistics->resting_heaps;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++)
        statistics->classes[class].size = size_classes[class].size;
    for (unsigned tries = 0; tries < 100; tries++) {
        if (root_walk_begin()) {
            map_walk(count_slabs, statistics);
            leave_out_local(statistics);
            root_walk_end();
            break;
        }
        _Atomic(uint32_t) word = 0;
        platform_futex_wait(&word, 0, 1);
    }
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++)
        statistics->in_use += statistics->classes[class].objects * size_classes[class].size;
}
