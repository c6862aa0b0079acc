/* quarantine_entry.h - an entry of a quarantine's ring: a freed object and the size of its slot.
 *
 *   entry   | 63..48 size of the slot in units of 8 B | 47..0 address |
 *
 * Only this file knows the bits.
 */
#ifndef JW_QUARANTINE_ENTRY_H
#define JW_QUARANTINE_ENTRY_H

#include "base/compiler.h"
#include "config/geometry.h"

struct quarantine_entry {
    uint64_t raw;
};

enum { ENTRY_SHIFT = 48, ENTRY_UNIT_SHIFT = 3 };

_Static_assert(JW_ADDRESS_BITS <= ENTRY_SHIFT, "an address fits in an entry");
_Static_assert(BACKEND_MIN >> ENTRY_UNIT_SHIFT <= UINT16_MAX, "a slot's size fits in an entry");

static ALWAYS_INLINE struct quarantine_entry entry_made(const char *object, size_t slot) {
    return (struct quarantine_entry){(uint64_t)slot << (ENTRY_SHIFT - ENTRY_UNIT_SHIFT) | (uintptr_t)object};
}

static ALWAYS_INLINE size_t entry_slot(struct quarantine_entry entry) {
    return (size_t)(entry.raw >> ENTRY_SHIFT) << ENTRY_UNIT_SHIFT;
}

static ALWAYS_INLINE char *entry_object(struct quarantine_entry entry) {
    return (char *)(uintptr_t)(entry.raw & (((uint64_t)1 << ENTRY_SHIFT) - 1));
}

#endif
