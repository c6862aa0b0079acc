/* waiting_mappings.h - for clients of freed mappings that wait for the next huge object (mapping_cache.h). */
#ifndef JW_CLIENTS_WAITING_MAPPINGS_H
#define JW_CLIENTS_WAITING_MAPPINGS_H

#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "verify/clients/ranges.h"

/* As a round does. */
static void *draining(void *unused) {
    (void)unused;
    mapping_cache_drain(ANY_BUFFER, 1);
    return NULL;
}

/* Makes an object, which may have the memory of a freed one, and writes to it. NULL: there is no memory. */
static inline uint64_t *make_huge(void) {
    size_t used;
    uint64_t *object = huge_allocate(ROOT_SIZE, 1, &used);
    if (!object) return NULL;
    if (used == 0) assert(object[0] == 0);
    object[0] = 2;
    assert(huge_usable_size(object) == ROOT_SIZE && object[0] == 2);
    return object;
}

/* After the threads: nothing counts as in use or cached, and no mapping is left. */
static inline void end_of_mappings(void) {
    thrift_purge();
    assert(atomic_load_explicit(&thrift_counters.huge_bytes, memory_order_relaxed) == 0 && model_reserved_roots() == 0);
    assert(free_granules(MAPPED) == 0 && mapping_cache_bytes() == 0);
}

#endif
