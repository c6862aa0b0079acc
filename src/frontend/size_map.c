/* size_map.c - makes a heap's map from sizes to classes, and opens the finer classes in it. */
#include "frontend/size_map.h"

#include <string.h>

#include "config/policy.h"

static void map_sizes(struct heap *heap, unsigned class, unsigned to) {
    unsigned first = class > 0 ? size_classes[class - 1].size + 1u : 1;
    memset(heap->map + first, (int)(to * FREE_TARGET_WORDS), size_classes[class].size + 1u - first);
}

COLD void size_map_open(struct heap *heap, unsigned coarse) {
    heap->budget[coarse] = (uint8_t)size_classes[coarse].budget;
    for (unsigned class = coarse; class > 0 && size_class_coarse(class - 1) == coarse; class --)
        map_sizes(heap, class - 1, class - 1);
}

/* Slabs in use at which the finer classes open. */
static uint8_t slabs_until_open(unsigned coarse) {
    return size_class_capacity(coarse) <= COARSE_FEW_OBJECTS ? 2 * JW_COARSE_SLABS : JW_COARSE_SLABS;
}

COLD void size_map_start(struct heap *heap) {
    bool coarse = JW_COARSE_SLABS > 0 && heap->number > 1;
    heap->map[0] = NO_CLASS * FREE_TARGET_WORDS;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        unsigned to = coarse ? size_class_coarse(class) : class;
        map_sizes(heap, class, to);
        heap->budget[class] = (uint8_t)size_classes[class].budget;
        if (to != class) heap->coarse_slabs[to] = slabs_until_open(to);
        if (heap->coarse_slabs[class] > 0 && size_classes[class].cached > JW_FIRST_OBJECT_CACHE)
            heap->budget[class] = JW_FIRST_OBJECT_CACHE;
    }
}
