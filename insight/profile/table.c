/* table.c - sets of sixteen neighbouring slots; the address chooses the set. */
#include "table.h"

#include <stddef.h>

enum { WAYS = 16, SETS = 1 << 14, SLOTS = SETS * WAYS };

_Atomic uint8_t filter[FILTER_SIZE];
static _Alignas(64) _Atomic uintptr_t keys[SLOTS];
static _Atomic uint32_t rows[SLOTS];

bool filter_add(const void *object) {
    _Atomic uint8_t *entry = filter_of(object);
    uint8_t count = atomic_load(entry);
    do {
        if (count == UINT8_MAX) return false;
    } while (!atomic_compare_exchange_weak(entry, &count, (uint8_t)(count + 1)));
    return true;
}

void filter_remove(const void *object) {
    atomic_fetch_sub(filter_of(object), 1);
}

static size_t first_slot(const void *object) {
    uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) % SETS * WAYS;
}

bool table_insert(const void *object, uint32_t row) {
    if (!filter_add(object)) return false;
    size_t first = first_slot(object);
    for (size_t slot = first; slot < first + WAYS; slot++) {
        uintptr_t empty = 0;
        if (atomic_compare_exchange_strong(&keys[slot], &empty, (uintptr_t)object)) {
            atomic_store(&rows[slot], row);
            return true;
        }
    }
    filter_remove(object);
    return false;
}

uint32_t table_remove(const void *object) {
    if (object == NULL) return 0; /* an empty slot's key */
    size_t first = first_slot(object);
    for (size_t slot = first; slot < first + WAYS; slot++) {
        if (atomic_load_explicit(&keys[slot], memory_order_relaxed) != (uintptr_t)object) continue;
        uint32_t row = atomic_exchange(&rows[slot], 0);
        atomic_store(&keys[slot], 0);
        filter_remove(object);
        return row;
    }
    return 0;
}

void table_each(void (*visit)(uint32_t row)) {
    for (size_t slot = 0; slot < SLOTS; slot++) {
        uint32_t row = atomic_load_explicit(&rows[slot], memory_order_relaxed);
        if (row != 0) visit(row);
    }
}
