/* shortage.c - compares what was refused with what is ours. */
#include "backend/shortage.h"

#include "backend/limits.h"
#include "backend/mapping_cache.h"
#include "backend/ownership.h"
#include "backend/root.h"
#include "backend/thrift_counters.h"
#include "base/align.h"
#include "base/compiler.h"
#include "base/mitigations.h"
#include "base/mixed.h"
#include "platform/deferred_unmap.h"

/* At most the bytes of all roots can be given back; in the hardened build also quarantined huge objects. The OS must
 * have the rest now, which a probe tells. With 32 bits a probe says nothing: two gaps may become one. */
wide_bool thrift_may_help(size_t size) {
    if (!limits_may_admit(size)) return false;
    size_t ours =
        (root_count() + root_spares()) * ROOT_SIZE + (QUARANTINED ? huge_bytes_waiting() : mapping_cache_bytes());
    if (size <= ours || sizeof(void *) < 8) return true;
    size_t page = platform_page_size(), beyond = align_down(size - ours, page);
    void *probe = beyond ? platform_reserve(beyond, page, "jwmalloc: probe") : NULL;
    thrift_lift_spare(true);
    if (probe) unmap_or_defer(probe, beyond);
    thrift_lift_spare(false);
    return !beyond || probe;
}

COLD uint64_t thrift_change_stamp(void) {
    uint64_t signs = stamped(free_granules(UNMAPPED), free_granules(MAPPED));
    signs = stamped(signs, root_count() + ((uint64_t)root_spares() << 32));
    signs = stamped(signs, huge_bytes_in_use() + mapping_cache_bytes());
    signs = stamped(signs, NEAR_LOAD(thrift_counters.asks));
    return stamped(signs, NEAR_LOAD(ownership.rollbacks));
}
