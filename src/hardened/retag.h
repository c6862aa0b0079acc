/* retag.h - chooses an object's memory tag. */
#ifndef JW_RETAG_H
#define JW_RETAG_H

#include "config/geometry.h"
#include "platform/random.h"
#include "platform/tags.h"

/* Any tag except the allocator's, the slot's last one, and those of the memory before and behind it. */
static inline unsigned tag_for(const char *object, size_t slot, unsigned last) {
    const uintptr_t inside = GRANULE_SIZE - 1; /* other granules may be protected, or not ours */
    uint32_t allowed = 0xfffe & ~(1u << (last & 15));
    if ((uintptr_t)object & inside) allowed &= ~(1u << tag_of_memory(object - TAG_BYTES));
    if ((uintptr_t)(object + slot) & inside) allowed &= ~(1u << tag_of_memory(object + slot));
    for (uint32_t left = random_less((uint32_t)__builtin_popcount(allowed)); left > 0; left--) allowed &= allowed - 1;
    return (unsigned)__builtin_ctz(allowed);
}

#endif
