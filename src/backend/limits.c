/* limits.c - what is committed, and how far it is above a limit. */
#include "backend/limits.h"

#include "backend/mapping_cache.h"
#include "backend/ownership.h"
#include "backend/root.h"
#include "backend/thrift_counters.h"
#include "base/compiler.h"

COLD size_t limits_committed(void) {
    intptr_t granules = (intptr_t)(root_count() * ROOT_GRANULES - free_granules(UNMAPPED));
    int64_t bytes = (int64_t)granules << JW_GRANULE_SHIFT; /* 64 bits: on 32 bits a process may have 4 GB */
    bytes += (int64_t)mapping_cache_bytes() + (int64_t)huge_bytes_in_use() + (intptr_t)other_bytes_in_use();
    return bytes > 0 ? (size_t)bytes : 0; /* values of different moments may contradict each other */
}

NOINLINE size_t limits_above(const _Atomic(size_t) *limit, size_t granules) {
    size_t most = option(limit);
    if (LIKELY(most == 0)) return 0;
    uint64_t all = limits_committed() + ((uint64_t)granules << JW_GRANULE_SHIFT);
    return all > most ? (size_t)((all - most + GRANULE_SIZE - 1) >> JW_GRANULE_SHIFT) : 0;
}
