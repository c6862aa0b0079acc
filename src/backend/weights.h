/* weights.h - the arithmetic of S(3) = { n * 2^m : 1 <= n <= 8 }, in granules: the sizes that ranges can have. */
#ifndef JW_WEIGHTS_H
#define JW_WEIGHTS_H

#include <stdint.h>

#include "config/geometry.h"

/* The m of weight = n * 2^m with the LARGEST n <= 8 (the finest unit that still spans the weight with eight slots).
 * For a weight outside S(3): the m of the next larger member. */
static inline unsigned finest_unit(uint32_t weight) {
    return 29 - (unsigned)__builtin_clz((weight - 1) | 7);
}

/* The m of weight = n * 2^m with the SMALLEST n. */
static inline unsigned coarsest_unit(uint32_t weight) {
    return (unsigned)__builtin_ctz(weight);
}

/* The odd n of weight = n * 2^m: 1, 3, 5 or 7. */
static inline uint32_t odd_part(uint32_t weight) {
    return weight >> coarsest_unit(weight);
}

/* Smallest member of S(3) that is at least `weight`. */
static inline uint32_t weight_round_up(uint32_t weight) {
    unsigned unit = finest_unit(weight);
    return (((weight - 1) >> unit) + 1) << unit;
}

/* The number of a member of S(3), in ascending order: 0 is weight 1. Of another weight: of the next larger member. */
static inline unsigned class_of_weight(uint32_t weight) {
    unsigned unit = finest_unit(weight);
    return unit * 4 + ((weight - 1) >> unit);
}

static inline uint32_t weight_of_class(unsigned class) {
    if (class < 8) return class + 1;
    unsigned unit = class / 4 - 1;
    return (class - unit * 4 + 1) << unit;
}

/* One more than class_of_weight(ROOT_GRANULES), as a constant. */
#define RANGE_CLASSES ((JW_ROOT_SHIFT - JW_GRANULE_SHIFT - 3) * 4 + 8u)

#endif
