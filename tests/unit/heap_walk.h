/* heap_walk.h - walks all lists of a heap and checks what slab.h and heap.h promise. Everyone must stand still. */
#ifndef JW_TESTS_HEAP_WALK_H
#define JW_TESTS_HEAP_WALK_H

#include "check.h"
#include "frontend/heap.h"

static inline unsigned list_length(const void *object) {
    unsigned length = 0;
    for (; !link_end(object); object = link_next(object, map.key)) CHECK(++length <= GRANULE_SIZE / 8);
    return length;
}

static inline bool list_has(const struct slab *first, const struct slab *slab) {
    while (first && first != slab) first = first->next;
    return first;
}

static inline void walk_slab(const struct heap *heap, const struct slab *slab) {
    unsigned class = slab->class, capacity = size_class_capacity(class), out = slab_out(slab),
             count = cross_count(&slab->cross), freed = list_length(slab->freed);
    bool current = heap->current[class] == slab;
    unsigned local = current ? list_length(heap->local[class]) : 0;
    CHECK(slab->heap == heap && leaf_of(slab) == heap->tag && class < SIZE_CLASS_COUNT);
    CHECK(slab->state == EMPTY || out + freed + (capacity - slab->carved) == capacity);
    CHECK(count + local <= out || slab->state == EMPTY);
    CHECK(current == (slab->state == CURRENT));
    CHECK(list_has(heap->partial[class], slab) == (slab->state == PARTIAL));
    CHECK((slab->bound == 0) == (slab->state == EMPTY) && (slab->cross_bound == 0) == (slab->state == EMPTY));
    if (slab->state == EMPTY) CHECK(slab->budget == 0 && slab->cross == 0 && freed == slab->carved);
    if (slab->state == PARTIAL) CHECK(out > 0 && freed + (capacity - slab->carved) + count > 0);
    if (slab->state == FULL) CHECK(slab->budget == 1 && out == capacity);
    if (slab->state != FULL && slab->state != RETURNING) CHECK(!(slab->cross & CROSS_FULL));
    if (slab->state == FULL && !(slab->cross & CROSS_FULL)) CHECK(count > 0); /* on its way to the owner */
}

static inline unsigned pool_length(const struct heap *heap) {
    unsigned length = 0;
    for (const struct slab *slab = heap->pool.first; slab; slab = slab->next) length++;
    return length;
}

static inline void walk_heap(const struct heap *heap) {
    unsigned in_use = 0, returned = 0, returning = 0;
    for (const struct slab *slab = heap->in_use.first; slab; slab = slab->all_next, in_use++) {
        CHECK(slab->state != EMPTY);
        CHECK((slab->all_next ? slab->all_next->all_previous : heap->in_use.last) == slab);
        walk_slab(heap, slab);
        returning += slab->state == RETURNING || (slab->state == FULL && !(slab->cross & CROSS_FULL));
    }
    for (const struct slab *slab = heap->pool.first; slab; slab = slab->next) {
        CHECK(slab->state == EMPTY);
        walk_slab(heap, slab);
    }
    for (const struct slab *slab = heap->returned; slab; slab = slab->next) returned++;
    CHECK(in_use == heap->in_use_count && pool_length(heap) <= heap->pool.count);
    CHECK(returned == returning); /* each is told to the owner once */
}

#endif
