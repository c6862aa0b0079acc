/* align.h - rounds addresses and sizes to multiples of a unit, which is a power of two: a page, a granule, a root.
 * align_up wraps round to 0 where no multiple is left above the value. */
#ifndef JW_ALIGN_H
#define JW_ALIGN_H

#include <stdint.h>

#include "base/compiler.h"

static ALWAYS_INLINE uintptr_t align_down(uintptr_t value, uintptr_t unit) {
    return value & ~(unit - 1);
}

static ALWAYS_INLINE uintptr_t align_up(uintptr_t value, uintptr_t unit) {
    return align_down(value + unit - 1, unit);
}

#endif
