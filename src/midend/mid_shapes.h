/* mid_shapes.h - the midend's classes: which sizes of objects there are, and how large a slab of each is. */
#ifndef JW_MID_SHAPES_H
#define JW_MID_SHAPES_H

#include <stdint.h>

#include "backend/leaf_word.h"
#include "backend/weights.h"
#include "base/compiler.h"
#include "config/geometry.h"
#include "config/size_classes.h"
#include "midend/mid_word.h"

enum { MOST_OBJECTS = 28 };
/* mid_nest has RANGE_CLASSES lists, and a leaf's word has room for LEAF_CLASS + 1 classes. */
enum { CLASSES = RANGE_CLASSES <= LEAF_CLASS ? RANGE_CLASSES : LEAF_CLASS + 1 };

_Static_assert((unsigned)CLASSES - 1 <= LEAF_CLASS, "a class fits in a leaf's word");
/* Let e = reciprocal * size - 2^32, which is less than the size. Then offset = i * size gives i + i * e / 2^32. For any
 * other offset, the quotient times the size is not the offset, whatever the quotient is. */
_Static_assert((uint64_t)MOST_OBJECTS *BACKEND_MIN <= UINT32_MAX, "an object's offset divided by the size is exact");
_Static_assert((MID_FREE_BITS >> MOST_OBJECTS) == 0, "each object has a bit");

#define UNIT_SHIFT JW_MIDEND_UNIT_SHIFT

struct mid_shape {
    uint32_t size, weight; /* of an object, in bytes; of a slab, in granules */
    uint32_t reciprocal;   /* ceil(2^32 / size): exact for multiples of the size in a slab; no other offset gives one */
    uint16_t count, cache_room; /* objects of a slab; objects that may be cached in a cache */
};

extern struct mid_shape mid_shapes[CLASSES] HIDDEN;
extern unsigned mid_class_count HIDDEN;
extern uint8_t mid_class_index[BACKEND_MIN >> UNIT_SHIFT] HIDDEN; /* by (size - 1) in units */

/* Makes the shapes and the index. Once, at the start. */
void mid_shapes_start(void);

static inline uint32_t mid_all_free(unsigned class) {
    return MID_FREE_BITS >> (MOST_OBJECTS - mid_shapes[class].count);
}

#endif
