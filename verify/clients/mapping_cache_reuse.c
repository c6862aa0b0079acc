/* mapping_cache_reuse - a huge object is freed, waits, and serves another thread's request; a round may take it
 * meanwhile.
 *
 * bound     3 threads: 1 free; 1 allocation; 1 drain, as of a round. One mapping may wait
 * property  the second object is its thread's alone; nothing counts as cached and no mapping is left in the end
 * defines   -DJW_CACHED_MAPPINGS=1 -DJW_NEST_SLOTS=1
 */
#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "verify/clients/ranges.h"

static uint64_t *huge, *reused;

static void *freeing(void *unused) {
    (void)unused;
    huge[0] = 1;
    huge_free(huge);
    return NULL;
}

static void *reusing(void *unused) {
    (void)unused;
    size_t used;
    uint64_t *object = huge_allocate(ROOT_SIZE, 1, &used);
    if (!object) return NULL;
    if (used == 0) assert(object[0] == 0);
    object[0] = 2;
    assert(huge_usable_size(object) == ROOT_SIZE && object[0] == 2);
    reused = object;
    return NULL;
}

static void *draining(void *unused) {
    (void)unused;
    mapping_cache_drain(ANY_BUFFER, 1);
    return NULL;
}

int main(void) {
    begin();
    huge = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(huge);
    pthread_t a = start(freeing, NULL), b = start(reusing, NULL), c = start(draining, NULL);
    finish(a);
    finish(b);
    finish(c);
    if (reused) huge_free(reused);
    thrift_purge();
    assert(atomic_load_explicit(&thrift_counters.huge_bytes, memory_order_relaxed) == 0 && model_reserved_roots() == 0);
    assert(free_granules(MAPPED) == 0 && mapping_cache_bytes() == 0);
    return 0;
}
