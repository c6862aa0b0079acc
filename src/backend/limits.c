/* limits.c - what is committed, and how far it is above a limit. */
#include "backend/limits.h"

#include "backend/mapping_cache.h"
#include "backend/ownership.h"
#include "backend/root.h"
#include "backend/thrift_counters.h"
#include "base/compiler.h"
#include "config/policy.h"
#include "platform/platform.h"

_Atomic(size_t) pressure_limit; /* relaxed: a number that stands alone */

COLD size_t limits_committed(void) {
    intptr_t granules = (intptr_t)(root_count() * ROOT_GRANULES - free_granules(UNMAPPED));
    int64_t bytes = (int64_t)granules << JW_GRANULE_SHIFT; /* 64 bits: on 32 bits a process may have 4 GB */
    bytes += (int64_t)mapping_cache_bytes() + (int64_t)huge_bytes_in_use() + (intptr_t)other_bytes_in_use();
    return bytes > 0 ? (size_t)bytes : 0; /* values of different moments may contradict each other */
}

static COLD size_t granules_above(size_t most, size_t granules) {
    uint64_t all = limits_committed() + ((uint64_t)granules << JW_GRANULE_SHIFT);
    return all > most ? (size_t)((all - most + GRANULE_SIZE - 1) >> JW_GRANULE_SHIFT) : 0;
}

NOINLINE size_t limits_above(const _Atomic(size_t) *limit, size_t granules) {
    size_t most = option_at(limit);
    return LIKELY(most == 0) ? 0 : granules_above(most, granules);
}

NOINLINE size_t limits_above_soft(size_t granules) {
    size_t most = option(&options.limit_soft), pressed = option(&pressure_limit);
    if (most - 1 > pressed - 1) most = pressed; /* the lower one; 0, which is none, counts as the highest */
    return LIKELY(most == 0) ? 0 : granules_above(most, granules);
}

/* A group without a limit sets none, nor one whose limit is beyond our addresses. */
static size_t limit_of_group(const struct group_memory *group) {
    size_t all = limits_committed() + group->room, reserve = group->most / PRESSURE_RESERVE;
    if (group->stalled >= PRESSURE_STALLED) return 1;
    if (group->most == SIZE_MAX || all < group->room) return 0;
    return all > reserve ? all - reserve : 1;
}

COLD void limits_look(void) {
    struct group_memory group;
    if (!option(&options.pressure) || !platform_group_memory(&group)) return;
    atomic_store_explicit(&pressure_limit, limit_of_group(&group), memory_order_relaxed);
}
