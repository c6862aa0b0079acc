/* mapping_cache_again - a mapping that waits serves a request, and waits again; a round may take it at any time.
 *
 * bound     2 threads: 1 allocation and free; 1 drain, as of a round. One mapping may wait
 * property  the object is its thread's alone; nothing counts as cached and no mapping is left in the end
 * defines   -DJW_CACHED_MAPPINGS=1 -DJW_NEST_SLOTS=1
 */
#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "verify/clients/ranges.h"

static void *reusing(void *unused) {
    (void)unused;
    size_t used;
    uint64_t *object = huge_allocate(ROOT_SIZE, 1, &used);
    if (!object) return NULL;
    if (used == 0) assert(object[0] == 0);
    object[0] = 2;
    assert(huge_usable_size(object) == ROOT_SIZE && object[0] == 2);
    huge_free(object);
    return NULL;
}

static void *draining(void *unused) {
    (void)unused;
    mapping_cache_drain(ANY_BUFFER, 1);
    return NULL;
}

int main(void) {
    begin();
    uint64_t *huge = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(huge);
    huge[0] = 1;
    huge_free(huge);
    pthread_t a = start(reusing, NULL), b = start(draining, NULL);
    finish(a);
    finish(b);
    thrift_purge();
    assert(atomic_load_explicit(&thrift_counters.huge_bytes, memory_order_relaxed) == 0 && model_reserved_roots() == 0);
    assert(free_granules(MAPPED) == 0 && mapping_cache_bytes() == 0);
    return 0;
}
