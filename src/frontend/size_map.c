/* size_map.c - makes a heap's map from sizes to classes, and opens the finer classes in it. */
#include "frontend/size_map.h"

#include <string.h>

#include "config/policy.h"
#include "frontend/disable.h"
#include "platform/assert.h"

static ALWAYS_INLINE void map_size(struct heap *heap, unsigned size, unsigned to) {
    relaxed_store(&heap->size_map[size], (uint8_t)list_of_class(to));
}

/* Sends the sizes of a class to the list of class `to`. Their number is a multiple of four; four at a time take a third
 * of the instructions. */
static void map_class(struct heap *heap, unsigned class, unsigned to) {
    unsigned size = class > 0 ? size_classes[class - 1].size : 0;
    invariant(size % 4 == 0 && size_classes[class].size % 4 == 0);
    for (; size < size_classes[class].size; size += 4) {
        map_size(heap, size + 1, to);
        map_size(heap, size + 2, to);
        map_size(heap, size + 3, to);
        map_size(heap, size + 4, to);
    }
}

static unsigned class_now(const struct heap *heap, unsigned class) {
    unsigned coarse = size_class_coarse(class);
    return heap->coarse_slabs[coarse] > 0 ? coarse : class;
}

COLD unsigned size_map_class(const struct heap *heap, size_t size) {
    return class_now(heap, size_class_of(size));
}

COLD void size_map_write(struct heap *heap) {
    map_size(heap, 0, NO_CLASS);
    for (unsigned size_class = 0; size_class < SIZE_CLASS_COUNT; size_class++)
        map_class(heap, size_class, class_now(heap, size_class));
    disable_look(heap);
}

COLD void size_map_open(struct heap *heap, unsigned coarse) {
    heap->budget[coarse] = (uint8_t)size_classes[coarse].budget;
    for (unsigned size_class = coarse; size_class > 0 && size_class_coarse(size_class - 1) == coarse; size_class--)
        map_class(heap, size_class - 1, size_class - 1);
    disable_look(heap);
}

/* Slabs in use at which the finer classes open. */
static uint8_t slabs_until_open(unsigned coarse) {
    return size_class_capacity(coarse) <= COARSE_FEW_OBJECTS ? 2 * JW_COARSE_SLABS : JW_COARSE_SLABS;
}

COLD void size_map_start(struct heap *heap) {
    bool coarse = JW_COARSE_SLABS > 0 && (JW_COARSE_FIRST || heap->number > 1);
    /* plain: no other thread touches the map before has_map */
    heap->size_map[0] = NO_LIST;
    for (unsigned size_class = 0, size = 1; size_class < SIZE_CLASS_COUNT; size_class++) {
        unsigned to = coarse ? size_class_coarse(size_class) : size_class, last = size_classes[size_class].size;
        memset(heap->size_map + size, (int)list_of_class(to), last + 1 - size);
        size = last + 1;
        heap->budget[size_class] = (uint8_t)size_classes[size_class].budget;
        if (to != size_class) heap->coarse_slabs[to] = slabs_until_open(to);
        if (heap->coarse_slabs[size_class] > 0 && size_classes[size_class].cache_room > JW_FIRST_OBJECT_CACHE)
            heap->budget[size_class] = JW_FIRST_OBJECT_CACHE;
    }
    /* [DI5] release: the map; pairs [DI6]; client disable_new */
    atomic_store_explicit(&heap->has_map, true, memory_order_release);
    disable_look(heap);
}
