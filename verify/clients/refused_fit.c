/* refused_fit - a freed mapping waits, and a larger or a smaller object is asked for. The OS may refuse to change the
 * mapping's size, to move the mapping, to make another one, and to unmap one.
 *
 * bound     1 thread: 1 allocation, twice or half as large as the mapping; 3 calls that may be refused
 * property  the object has the size that was asked for, and is zero behind its old bytes; what is counted is what is
 *           mapped; when nothing is refused any more and all is freed, nothing is left
 * defines   -DJW_CACHED_MAPPINGS=1 -DJW_NEST_SLOTS=1 -DMODEL_ROOTS=16 -DJW_WINDOW_SHIFT=15
 */
#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "platform/deferred_unmap.h"
#include "verify/clients/ranges.h"

static size_t counted(void) {
    return atomic_load_explicit(&thrift_counters.huge_bytes, memory_order_relaxed);
}

int main(void) {
    begin();
    uint64_t *first = huge_allocate(2 * ROOT_SIZE, 1, NULL), *behind = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(first && behind);
    first[0] = 1;
    huge_free(first);
    assert(mapping_cache_bytes() == 2 * ROOT_SIZE);
    size_t size = checker_choose(2) ? 4 * ROOT_SIZE : ROOT_SIZE, dirty = 0;
    atomic_store_explicit(&model_faults_left, 3, memory_order_relaxed);
    uint64_t *object = huge_allocate(size, 1, &dirty);
    atomic_store_explicit(&model_faults_left, 0, memory_order_relaxed);
    assert(counted() == ROOT_SIZE + (object ? size : 0));
    if (object) {
        assert(huge_usable_size(object) == size && huge_may_serve(huge_usable_size(object), size));
        assert(object[0] == (dirty > 0 ? 1 : 0) && (dirty >= size || object[size / sizeof *object - 1] == 0));
        object[0] = 2;
        huge_free(object);
    }
    huge_free(behind);
    thrift_purge();
    unmap_deferred();
    assert(counted() == 0 && model_reserved_roots() == 0);
    assert(free_granules(MAPPED) == 0);
    return 0;
}
