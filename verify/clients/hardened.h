/* hardened.h - the clients that run the whole hardened build: its own malloc and free, with trailers and quarantine.
 */
#ifndef JW_HARDENED_H
#define JW_HARDENED_H

#include "config/options.h"
#include "hardened/regions.h"
#include "jwmalloc.h"
#include "verify/clients/whole.h"

enum { SLOT = 112, SIZE = SLOT - 8 }; /* two slots to a slab; the trailer is behind the object */

static inline void begin_hardened(size_t quarantine, size_t guard_rate) {
    atomic_store_explicit(&options.quarantine, quarantine, memory_order_relaxed);
    atomic_store_explicit(&options.guard_rate, guard_rate, memory_order_relaxed);
    begin();
}

/* Empty slabs stay with their class, so a purge gives back no root of theirs; what a thread does that finds no memory
 * gives back all. */
static inline void end_hardened(void) {
    for (unsigned round = 0; round < 2; round++) thrift_purge(); /* one for each stack of abandoned heaps */
    regions_give_up();
    thrift_purge();
    for (unsigned without_pages = 0; without_pages < 2; without_pages++)
        assert(atomic_load_explicit(&unused_bytes[without_pages], memory_order_relaxed) == 0);
    assert(model_reserved_roots() == 0);
    expect_exact_counts();
}

#endif
