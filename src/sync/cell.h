/* cell.h - a word that holds one value or none. Each value that is put is taken once.
 *
 *   raw   the value; 0: none
 *
 *   transition        by                                word           order
 *   put(value)        any thread                        0 -> value     [CE1] release: publishes what the value names
 *   fill(value)       the only thread that may put now  0 -> value     [CE2] release: as CE1, without a comparison
 *   take              any thread                        value -> 0     [CE3] acquire: pairs CE1 CE2
 *   take_own          the only thread that ever fills   value -> 0     relaxed: it finds what it has put itself
 *   change(from, to)  any thread                        from -> to     [CE4] acquire: pairs CE2
 *
 * fill is for an empty cell that no other thread puts into or fills. That is a cell of this thread's own, or one from
 * which this thread has taken the value that it puts back. change marks a value or takes it; it fails if the value is
 * no longer the one that was seen.
 *
 * Invariant: of all that take or change a value, one thread gets it.
 * Progress: all are wait-free.
 * Verified by verify/clients/cell_put_take.c. Used by spare roots, closed parts, cached ranges. */
#ifndef JW_CELL_H
#define JW_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct cell {
    _Atomic(uint32_t) raw;
};

/* A hint: another thread may put, take or change at any time. Worth a look before take, which writes the word. */
static ALWAYS_INLINE uint32_t cell_look(const struct cell *cell) {
    return atomic_load_explicit(&cell->raw, memory_order_relaxed);
}

/* False: another value is there. */
static inline bool cell_put(struct cell *cell, uint32_t value) {
    uint32_t none = 0;
    /* [CE1] release: what the value names; pairs [CE3]; client cell_put_take */
    return atomic_compare_exchange_strong_explicit(&cell->raw, &none, value, memory_order_release,
                                                   memory_order_relaxed);
}

static ALWAYS_INLINE void cell_fill(struct cell *cell, uint32_t value) {
    /* [CE2] release: what the value names; pairs [CE3] [CE4]; client cell_put_take */
    atomic_store_explicit(&cell->raw, value, memory_order_release);
}

/* Returns the value; 0: there was none. */
static inline uint32_t cell_take(struct cell *cell) {
    /* [CE3] acquire: what the value names; pairs [CE1] [CE2]; client cell_put_take */
    return atomic_exchange_explicit(&cell->raw, 0, memory_order_acquire);
}

/* As cell_take, by the only thread that ever fills the cell. */
static ALWAYS_INLINE uint32_t cell_take_own(struct cell *cell) {
    /* relaxed: the thread finds what it has put itself */
    return atomic_exchange_explicit(&cell->raw, 0, memory_order_relaxed);
}

/* False: `from` is not there any more. */
static inline bool cell_change(struct cell *cell, uint32_t from, uint32_t to) {
    /* [CE4] acquire: what the value names; pairs [CE2]; client cell_put_take */
    return atomic_compare_exchange_strong_explicit(&cell->raw, &from, to, memory_order_acquire, memory_order_relaxed);
}

#endif
