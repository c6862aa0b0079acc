/* mid_shapes.c - the search for each class's shape, and the index from a size to its class. */
#include "midend/mid_shapes.h"

#include "config/policy.h"

struct mid_shape mid_shapes[CLASSES];
uint8_t mid_class_index[BACKEND_MIN >> UNIT_SHIFT];
unsigned mid_class_count;

_Static_assert(JW_MID_CACHE_BYTES / FRONTEND_MAX <= UINT16_MAX, "the objects of a cache fit in a shape");

/* Finds the smallest slab that has enough objects and whose tail is at most a sixteenth of it. */
static wide_bool shape_for(uint32_t size, struct mid_shape *shape) {
    for (unsigned range_class = 1; range_class < RANGE_CLASSES; range_class++) {
        uint32_t weight = weight_of_class(range_class), bytes = weight << JW_GRANULE_SHIFT, count = bytes / size;
        if (count > MOST_OBJECTS) return false;
        if (count < MID_LEAST_OBJECTS || (bytes - count * size) * MID_TAIL_PART > bytes) continue;
        shape->size = size;
        shape->weight = weight;
        shape->count = (uint16_t)count;
        shape->cache_room = QUARANTINED ? 0 : (uint16_t)(JW_MID_CACHE_BYTES / size);
        shape->reciprocal = (uint32_t)((((uint64_t)1 << 32) + size - 1) / size);
        return true;
    }
    return false;
}

static uint32_t units_of(size_t size) {
    return (uint32_t)((size + (1u << UNIT_SHIFT) - 1) >> UNIT_SHIFT);
}

/* Classes are S(3) in units. The first is the frontend's largest size, for alignments that no small class has, or the
 * next one whose objects are few enough. */
void mid_shapes_start(void) {
    unsigned range_class = class_of_weight(weight_round_up(units_of(FRONTEND_MAX)));
    while (!shape_for(weight_of_class(range_class) << UNIT_SHIFT, &mid_shapes[0])) range_class++;
    mid_class_count = 0;
    for (; weight_of_class(range_class) << UNIT_SHIFT < BACKEND_MIN && mid_class_count < CLASSES; range_class++) {
        if (!shape_for(weight_of_class(range_class) << UNIT_SHIFT, &mid_shapes[mid_class_count])) break;
        mid_class_count++;
    }
    unsigned mid_class = 0;
    for (unsigned unit = 0; unit < BACKEND_MIN >> UNIT_SHIFT; unit++) {
        while (mid_class < mid_class_count && mid_shapes[mid_class].size <= unit << UNIT_SHIFT) mid_class++;
        mid_class_index[unit] = (uint8_t)mid_class;
    }
}
