/* heap_walk.h - walks all lists of a heap and checks what slab.h and heap.h promise. No other thread may run. */
#ifndef JW_TESTS_HEAP_WALK_H
#define JW_TESTS_HEAP_WALK_H

#include "check.h"
#include "frontend/heap.h"
#include "frontend/heap_table.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_lists.h"

static inline unsigned list_length(const void *object) {
    unsigned length = 0;
    for (; !link_is_end(object); object = link_next(object, slab_key(slab_of(object))))
        CHECK(++length <= GRANULE_SIZE / 8);
    return length;
}

static inline bool list_has(const struct slab *first, const struct slab *slab) {
    while (first && first != slab) first = slab_by_id(&first->freed.next);
    return first;
}

static inline void walk_slab(const struct heap *heap, const struct slab *slab) {
    if (slab_is_taken(slab)) {
        CHECK(slab_is_full(slab) || slab->state == PARTIAL);
        return;
    }
    unsigned class = slab->class, capacity = size_class_capacity(class), out = slab_out(slab),
             count = cross_count(&slab->cross), freed = list_length(slab->freed.first);
    bool current = heap->current[class] == slab;
    unsigned local =
        0; /* its own objects in the list; what is cached is no current slab's, and of no more than may be */
    void *object = heap->local[class].first;
    for (; !link_is_end(object); object = link_next(object, heap->key)) local += slab_of(object) == slab;
    CHECK(link_is_end(object));
    CHECK(local == 0 || current || slab->state == PARTIAL || slab->state == FULL);
    CHECK(local <= size_classes[class].cache_room || current);
    CHECK(heap_of(slab) == heap && leaf_same(leaf_get(record_id(slab)), leaf_slab(heap->number)) &&
          class < SIZE_CLASS_COUNT);
    CHECK(slab->state == EMPTY || out + freed + (capacity - slab->linked) == capacity);
    CHECK(count + local <= out || slab->state == EMPTY);
    CHECK(current == (slab->state == CURRENT));
    bool to_local = slab->state == FULL ? size_classes[class].cache_room > 0 : current && !JW_SECURE;
    CHECK(slab->target == (to_local ? &heap->local[class] : &slab->freed));
    CHECK(list_has(heap->partial[class], slab) == (slab->state == PARTIAL));
    char *start = granule_address(record_id(slab)), *last = start + (size_t)(capacity - 1) * size_classes[class].size;
    CHECK(slab_has_start(start, slab) == (slab->state != EMPTY));
    CHECK(slab_has_start(last, slab) == (slab->state != EMPTY));
    if (slab->state == EMPTY)
        CHECK(slab->freed.budget == 0 && count == 0 && freed == slab->linked && !slab_is_reopening(slab));
    if (slab->state == PARTIAL) CHECK(out > 0 && freed + (capacity - slab->linked) + count > 0);
    if (slab->state == FULL)
        CHECK(slab->freed.budget > 0 && slab->freed.budget <= size_classes[class].frees_until_reopen);
    if (slab->state == WANTED) CHECK(slab->freed.budget == 1 && freed == 0 && out == capacity);
    if (slab->state == REOPENING) CHECK(slab->freed.budget == 1 && freed == slab->linked && slab_is_reopening(slab));
    if (cross_is_full(cross_get(&slab->cross))) CHECK(slab->marked && count == 0);
    else if (slab_is_full(slab)) CHECK(slab->marked); /* reopening, or reopened */
}

/* What is cached and what may still go: never more than that together. */
static inline void walk_local(const struct heap *heap, unsigned class) {
    unsigned cached = 0, budget = heap->local[class].budget;
    for (void *object = heap->local[class].first; !link_is_end(object); object = link_next(object, heap->key))
        cached += slab_of(object) != heap->current[class];
    CHECK(budget > 0 && cached + budget <= heap->budget[class]);
}

/* The map (frontend/size_map.h): each size has its own class or its coarse one, as the slabs in use say. */
static inline void walk_map(const struct heap *heap, const unsigned *in_use) {
    CHECK(heap->size_map[0] == NO_CLASS * FREE_TARGET_WORDS);
    for (size_t size = 1; size <= FRONTEND_MAX; size++) {
        unsigned fine = size_class_of(size), coarse = size_class_coarse(fine);
        CHECK(heap->size_map[size] == FREE_TARGET_WORDS * (heap->coarse_slabs[coarse] > 0 ? coarse : fine));
    }
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        unsigned until_open = JW_COARSE_SLABS * (size_class_capacity(class) <= COARSE_FEW_OBJECTS ? 2 : 1);
        unsigned left = heap->coarse_slabs[class];
        CHECK(left == 0 || ((JW_COARSE_FIRST || heap->number > 1) && size_class_coarse(class) == class &&
                            left + in_use[class] == until_open));
    }
}

static inline unsigned pool_length(const struct heap *heap) {
    unsigned length = 0;
    const struct slab *slab = heap->pool.slabs.first ? record_at(heap->pool.slabs.first) : NULL;
    for (; slab; slab = slab_by_id(&slab->freed.next)) length++;
    return length;
}

struct walk {
    const struct heap *heap;
    unsigned in_use, empty, returning, in_use_of[SIZE_CLASS_COUNT];
};

static inline void walk_root(granule_id root, void *context) {
    struct walk *walk = context;
    for (granule_id id = root; id < root + ROOT_GRANULES; id++) {
        const struct slab *slab = record_at(id);
        if (!slab_has_key(slab, walk->heap->key)) continue;
        walk_slab(walk->heap, slab);
        *(slab->state == EMPTY ? &walk->empty : &walk->in_use) += 1;
        walk->in_use_of[slab->class] += slab->state != EMPTY;
        walk->returning += slab_is_reopening(slab);
    }
}

static inline void walk_heap(const struct heap *heap) {
    struct walk walk = {.heap = heap};
    page_map_walk(walk_root, &walk);
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) walk_local(heap, class);
    walk_map(heap, walk.in_use_of);
    unsigned returned = 0;
    for (granule_id id = heap->reopened_taken; id; id = range_next(id)) returned++;
    for (granule_id id = heap->reopened.first; id; id = range_next(id)) returned++;
    CHECK(walk.in_use == heap->in_use_count && walk.empty == pool_length(heap) && walk.empty <= heap->pool.count);
    CHECK(returned == walk.returning); /* each is told to the owner once */
}

#endif
