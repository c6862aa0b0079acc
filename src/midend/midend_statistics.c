/* midend_statistics.c - what the midend tells: of an address, and in numbers. */
#include "backend/root.h"
#include "midend/mid_slab.h"
#include "midend/midend.h"

void midend_describe(const void *object, struct found *found) {
    unsigned class = 0;
    uint32_t bit = 0;
    granule_id slab = mid_slab_of(object, &class, &bit);
    granule_id id = granule_of(object), start = granule_start(id);
    if (!slab) class = mid_class_of_slab(start);
    const struct mid_shape *shape = &mid_shapes[class];
    uint32_t offset = (id - start) << JW_GRANULE_SHIFT | ((uint32_t)(uintptr_t)object & (GRANULE_SIZE - 1));
    found->tier = TIER_MID;
    found->size = shape->size;
    if (!slab) found->state = offset < shape->count * shape->size ? FOUND_INSIDE : FOUND_BETWEEN;
    else if (mid_has_free(mid_word_get(mid_state_at(slab)), bit)) found->state = FOUND_FREE;
    else found->state = mid_may_be_cached(object) && mid_has_link(object, class) ? FOUND_FREE : FOUND_IN_USE;
}

static void count_free(granule_id root, void *context) {
    struct midend_statistics *statistics = context;
    if (!root_has_mid_slabs(root)) return;
    for (granule_id id = root, step; id < root + ROOT_GRANULES; id += step) {
        struct leaf_word leaf = leaf_get(id);
        step = granules_to_next(id, leaf);
        if (leaf_kind(leaf) != MID) continue;
        unsigned class = mid_class_of_slab(id);
        uint32_t free = mid_free_bits(mid_word_get(mid_state_at(id)));
        statistics->classes[class].objects -= (unsigned)__builtin_popcount(free);
    }
}

_Static_assert((unsigned)CLASSES <= MID_CLASSES_MOST, "each class has its statistics");

void midend_statistics(const struct mid_cache *caches, struct midend_statistics *statistics) {
    *statistics = (struct midend_statistics){.class_count = mid_class_count};
    for (unsigned mid_class = 0; mid_class < mid_class_count; mid_class++) {
        uint64_t slabs = atomic_load_explicit(&mid_slab_counts[mid_class], memory_order_relaxed),
                 capacity = slabs * mid_shapes[mid_class].count;
        statistics->classes[mid_class].size = mid_shapes[mid_class].size;
        statistics->classes[mid_class].slabs = slabs;
        statistics->classes[mid_class].capacity = statistics->classes[mid_class].objects = capacity;
        statistics->reserved += slabs * mid_shapes[mid_class].weight << JW_GRANULE_SHIFT;
    }
    page_map_walk(count_free, statistics);
    for (unsigned i = 0; i < MID_CACHES; i++)
        for (const void *object = caches[i].cached; object; object = cached_next(&caches[i], object))
            statistics->classes[caches[i].class_plus_1 - 1].objects--;
    for (unsigned mid_class = 0; mid_class < mid_class_count; mid_class++)
        statistics->in_use += statistics->classes[mid_class].objects * mid_shapes[mid_class].size;
}
