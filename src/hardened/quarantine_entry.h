/* quarantine_entry.h - an entry of a quarantine's ring: a freed object, and its class or the size of its slot.
 *
 *   own     | 63: 0 | 62..48 place of its class | 47..0 address |    a small object of the quarantine's heap
 *   other   | 63: 1 | 62..48 size of the slot in units of 8 B | 47..0 address |
 *
 * Only this file knows the bits.
 */
#ifndef JW_QUARANTINE_ENTRY_H
#define JW_QUARANTINE_ENTRY_H

#include <stdbool.h>

#include "base/compiler.h"
#include "config/geometry.h"

struct quarantine_entry {
    uint64_t raw;
};

enum { ENTRY_SHIFT = 48, ENTRY_UNIT_SHIFT = 3, ENTRY_PLACE_MOST = INT16_MAX };

_Static_assert(JW_ADDRESS_BITS <= ENTRY_SHIFT, "an address fits in an entry");
_Static_assert(BACKEND_MIN >> ENTRY_UNIT_SHIFT <= INT16_MAX, "a slot's size fits in an entry");

/* An own entry without the address. */
static ALWAYS_INLINE uint64_t own_entry_at(uint64_t place) {
    return place << ENTRY_SHIFT;
}

static ALWAYS_INLINE struct quarantine_entry entry_of_own(const char *object, uint64_t own) {
    return (struct quarantine_entry){own | (uintptr_t)object};
}

static ALWAYS_INLINE struct quarantine_entry entry_of_other(const char *object, size_t slot) {
    uint64_t other = (uint64_t)slot << (ENTRY_SHIFT - ENTRY_UNIT_SHIFT) | (uint64_t)1 << 63;
    return (struct quarantine_entry){other | (uintptr_t)object};
}

static ALWAYS_INLINE bool entry_is_own(struct quarantine_entry entry) {
    return (int64_t)entry.raw >= 0;
}

/* Of an own object: where the quarantine has its class. */
static ALWAYS_INLINE size_t entry_place(struct quarantine_entry entry) {
    return entry.raw >> ENTRY_SHIFT;
}

/* Of another one. */
static ALWAYS_INLINE size_t entry_slot(struct quarantine_entry entry) {
    return (size_t)(entry.raw >> ENTRY_SHIFT & ENTRY_PLACE_MOST) << ENTRY_UNIT_SHIFT;
}

static ALWAYS_INLINE char *entry_object(struct quarantine_entry entry) {
    return (char *)(uintptr_t)(entry.raw & (((uint64_t)1 << ENTRY_SHIFT) - 1));
}

/* Of an own entry whose other bits are known. */
static ALWAYS_INLINE char *own_entry_object(struct quarantine_entry entry, uint64_t own) {
    return (char *)(uintptr_t)(entry.raw ^ own);
}

#endif
