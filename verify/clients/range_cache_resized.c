/* range_cache_resized - large objects that have grown or shrunk, and one of a single granule, are freed with their
 * weight.
 *
 * bound     1 thread: 3 objects, one resized each way
 * property  what is cached is as large as the object was at last
 * defines   -DJW_RANGE_CACHE_WAYS=2
 */
#include "verify/clients/ranges.h"

static struct range_cache range_cache;

static void keep(void *object, uint32_t granules) {
    size_t before = range_cache_granules(&range_cache);
    granule_id range = large_try_begin_free(object);
    assert(range && knit_weight(range) == granules);
    large_cache(&range_cache, range);
    assert(range_cache_granules(&range_cache) == before + granules);
}

int main(void) {
    bool zeroed;
    begin();
    range_cache_enter(&range_cache);
    char *shrunk = large_allocate(3 * GRANULE_SIZE, 1, &zeroed), *one = large_allocate(GRANULE_SIZE, 1, &zeroed);
    char *grown = large_allocate(2 * GRANULE_SIZE, 1, &zeroed);
    assert(shrunk && one && grown);
    bool resized = large_shrink(shrunk, 2 * GRANULE_SIZE);
    assert(resized);
    keep(shrunk, 2);
    resized = large_grow(grown, 3 * GRANULE_SIZE);
    if (resized) keep(grown, 3);
    assert(resized);
    keep(one, 1);
    range_cache_drain(&range_cache, true);
    range_cache_enter(NULL);
    end();
    return 0;
}
