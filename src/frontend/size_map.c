/* size_map.c - makes a heap's map from sizes to classes, and opens the finer classes in it. */
#include "frontend/size_map.h"

#include <string.h>

#include "config/policy.h"

static void map_sizes(struct heap *heap, unsigned class, unsigned to) {
    unsigned first = class > 0 ? size_classes[class - 1].size + 1u : 1;
    memset(heap->size_map + first, (int)(to * FREE_TARGET_WORDS), size_classes[class].size + 1u - first);
}

COLD void size_map_open(struct heap *heap, unsigned coarse) {
    heap->budget[coarse] = (uint8_t)size_classes[coarse].budget;
    for (unsigned size_class = coarse; size_class > 0 && size_class_coarse(size_class - 1) == coarse; size_class--)
        map_sizes(heap, size_class - 1, size_class - 1);
}

/* Slabs in use at which the finer classes open. */
static uint8_t slabs_until_open(unsigned coarse) {
    return size_class_capacity(coarse) <= COARSE_FEW_OBJECTS ? 2 * JW_COARSE_SLABS : JW_COARSE_SLABS;
}

COLD void size_map_start(struct heap *heap) {
    bool coarse = JW_COARSE_SLABS > 0 && heap->number > 1;
    heap->size_map[0] = NO_CLASS * FREE_TARGET_WORDS;
    for (unsigned size_class = 0; size_class < SIZE_CLASS_COUNT; size_class++) {
        unsigned to = coarse ? size_class_coarse(size_class) : size_class;
        map_sizes(heap, size_class, to);
        heap->budget[size_class] = (uint8_t)size_classes[size_class].budget;
        if (to != size_class) heap->coarse_slabs[to] = slabs_until_open(to);
        if (heap->coarse_slabs[size_class] > 0 && size_classes[size_class].cache_room > JW_FIRST_OBJECT_CACHE)
            heap->budget[size_class] = JW_FIRST_OBJECT_CACHE;
    }
}
