/* size_classes.h - the frontend's size classes (table: tools/size_classes.py). */
#ifndef JW_SIZE_CLASSES_H
#define JW_SIZE_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "config/geometry.h"
#include "config/size_classes_table.h"

struct size_class {
    uint16_t size, origin;      /* of an object; offset of the first one in a slab */
    uint16_t capacity, batch;   /* objects of a slab; how many get their links at a time, about a page of them */
    uint32_t reciprocal, bound; /* floor(2^32 / size) + 1; see size_class_bound */
};

extern const struct size_class size_classes[SIZE_CLASS_COUNT];
extern const uint8_t size_class_index[FRONTEND_MAX / 8];

/* Class of a request of 1 to FRONTEND_MAX bytes. */
static inline unsigned size_class_of(size_t size) {
    return size_class_index[(size - 1) / 8];
}

static inline unsigned size_class_capacity(unsigned class) {
    return size_classes[class].capacity;
}

/* An address n bytes after the first object is an object exactly if n * reciprocal (mod 2^32) < bound. With e =
 * reciprocal * size - 2^32 (1 to size), the i-th object gives i * e, and everything else in the slab more: what is no
 * multiple about reciprocal or more, what lies before the first object nearly 2^32, what would be the next after the
 * last count * e. */
static inline uint32_t size_class_bound(unsigned class) {
    return size_classes[class].bound;
}

/* The largest power of two that every object of the class is aligned to. */
static inline size_t size_class_alignment(unsigned class) {
    size_t bits = size_classes[class].size | size_classes[class].origin;
    return bits & -bits;
}

_Static_assert(FRONTEND_MAX * 2 + SLAB_HEADER_SIZE <= GRANULE_SIZE, "a slab holds at least two objects");

#endif
