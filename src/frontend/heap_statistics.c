#include "backend/backend.h"
#include "backend/root.h"
#include "frontend/heap.h"
#include "platform/platform.h"

/* Reads the headers of slabs while their owners work on them: a moment's view. */
__attribute__((no_sanitize("thread"))) static void count_slabs(granule_id root, void *context) {
    struct frontend_statistics *statistics = context;
    for (granule_id id = root; id < root + ROOT_GRANULES; id++) {
        /* [SL2] acquire: the granule's root is claimed, its header formatted; pairs [SL1] */
        if (!(atomic_load_explicit(&map.leaf[id], memory_order_acquire) & LEAF_SLAB)) continue;
        const struct slab *slab = (const struct slab *)granule_address(id);
        unsigned class = slab->class;
        statistics->reserved += GRANULE_SIZE;
        statistics->pooled_slabs += slab->state == EMPTY;
        if (class >= SIZE_CLASS_COUNT) continue;
        uint64_t used = slab_used(slab), waiting = cross_count(&slab->cross), capacity = size_class_capacity(class);
        statistics->classes[class].slabs++;
        statistics->classes[class].capacity += capacity;
        if (used <= capacity && waiting <= used) statistics->classes[class].objects += used - waiting;
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
            root_walk_end();
            break;
        }
        _Atomic(uint32_t) word = 0;
        platform_futex_wait(&word, 0, 1);
    }
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++)
        statistics->in_use += statistics->classes[class].objects * size_classes[class].size;
}
