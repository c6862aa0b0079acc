/* limits.c - what is committed, and how far it is above a limit. */
#include "backend/limits.h"

#include "backend/mapping_cache.h"
#include "backend/ownership.h"
#include "backend/root.h"
#include "backend/thrift_counters.h"
#include "base/compiler.h"

COLD size_t limits_committed(void) {
    size_t granules = root_count() * ROOT_GRANULES - free_granules(UNMAPPED);
    size_t bytes = (granules << JW_GRANULE_SHIFT) + mapping_cache_bytes() + huge_bytes_in_use() + other_bytes_in_use();
    return (intptr_t)bytes > 0 ? bytes : 0; /* values of different moments may contradict each other */
}

NOINLINE size_t limits_above(const _Atomic(size_t) *limit, size_t granules) {
    size_t most = option(limit);
    if (LIKELY(most == 0)) return 0;
    size_t all = limits_committed() + (granules << JW_GRANULE_SHIFT);
    return all > most ? (all - most + GRANULE_SIZE - 1) >> JW_GRANULE_SHIFT : 0;
}
