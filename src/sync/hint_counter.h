/* hint_counter.h - counts events, roughly, for a thread that asks: has much happened, or anything?
 *
 *   count   events, modulo 2^32; fewer where several threads count at once
 *
 *   transition   by           word         order
 *   add          any thread   n -> n + 1   relaxed: a load, then a store
 *   read         any thread   read only    relaxed
 *
 * add is no read-modify-write, so no thread waits for the word's cache line. Two threads that add at once may count
 * once. A thread that is stopped between load and store sets the count back. So the count may decide when a thread
 * looks at something, but not what is there: it orders nothing.
 *
 * Invariant: the count is exact if one thread alone adds.
 * Progress: both are wait-free.
 * Verified by tests/unit/hint_counter_test.c. Used for the uses of a pool and for two counts of mid slabs. */
#ifndef JW_HINT_COUNTER_H
#define JW_HINT_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

struct hint_counter {
    _Atomic(uint32_t) count;
};

static ALWAYS_INLINE uint32_t hint_counter_read(const struct hint_counter *counter) {
    return atomic_load_explicit(&counter->count, memory_order_relaxed);
}

/* Counts one event. Returns the new count. */
static ALWAYS_INLINE uint32_t hint_counter_add(struct hint_counter *counter) {
    uint32_t count = hint_counter_read(counter) + 1;
    atomic_store_explicit(&counter->count, count, memory_order_relaxed);
    return count;
}

#endif
