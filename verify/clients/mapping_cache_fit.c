/* mapping_cache_fit - a freed mapping waits. One thread wants a larger object, so the mapping grows for it or moves;
 * another one wants the mapping as it is, or gets a new one.
 *
 * bound     2 threads: 1 allocation each; 1 mapping waits, of 1 that may
 * property  each object has its size and is its thread's alone; what has no old bytes is zero; nothing is left, in the
 *           directory or mapped, when all is freed
 * defines   -DJW_CACHED_MAPPINGS=1 -DJW_NEST_SLOTS=1 -DMODEL_ROOTS=8 -DJW_WINDOW_SHIFT=14
 */
#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "verify/clients/ranges.h"

static uint64_t *larger, *same;

static uint64_t *make(size_t size, uint64_t value) {
    size_t dirty;
    uint64_t *object = huge_allocate(size, 1, &dirty);
    assert(object);
    assert(huge_usable_size(object) == size);
    assert(object[0] == (dirty > 0 ? 1 : 0) && object[size / sizeof *object - 1] == 0);
    object[0] = value;
    return object;
}

static void *growing(void *unused) {
    (void)unused;
    larger = make(2 * ROOT_SIZE, 2);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    same = make(ROOT_SIZE, 3);
    return NULL;
}

static void unmake(uint64_t *object, size_t size, uint64_t value) {
    assert(object[0] == value && huge_usable_size(object) == size);
    huge_free(object);
}

int main(void) {
    begin();
    uint64_t *first = huge_allocate(ROOT_SIZE, 1, NULL);
    assert(first);
    first[0] = 1;
    huge_free(first);
    pthread_t a = start(growing, NULL), b = start(taking, NULL);
    finish(a);
    finish(b);
    unmake(larger, 2 * ROOT_SIZE, 2);
    unmake(same, ROOT_SIZE, 3);
    thrift_purge();
    assert(atomic_load_explicit(&thrift_counters.huge_bytes, memory_order_relaxed) == 0 && model_reserved_roots() == 0);
    assert(free_granules(MAPPED) == 0);
    return 0;
}
