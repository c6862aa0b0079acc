/* range_cache_rounds_in_turn - what one thread after the other sees of cached ranges.
 *
 * bound     1 thread: frees, allocations and rounds, one after the other
 * property  a range is cached for its class, and for a smaller object where memory without pages would come; there are
 *           no more than the limit says; a range that was not used between two rounds goes back without pages, one
 *           that was used stays; no heap without a thread caches a range
 * defines   -DJW_RANGE_CACHE_WAYS=2
 */
#include "config/policy.h"
#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct range_cache range_cache, late, nobodys;

static void *allocated(size_t size) {
    bool zeroed;
    void *object = large_allocate_cached(&range_cache, size);
    if (!object) object = large_allocate(size, 1, &zeroed);
    assert(object && large_usable_size(object) >= size);
    fill(object, size, 1);
    return object;
}

static void keep(struct range_cache *of, void *object, size_t size) {
    expect(object, size, 1);
    granule_id range = large_try_begin_free(object);
    assert(range && large_usable_size(object) == 0 && large_try_begin_free(object) == 0);
    large_cache(of, range);
}

static void rounds(size_t first, size_t second) {
    bool left = range_cache_drain(&range_cache, false);
    assert(left == (first > 0) && range_cache_granules(&range_cache) == first);
    range_cache_drain(&range_cache, false);
    assert(range_cache_granules(&range_cache) == second);
}

int main(void) {
    begin();
    range_cache_enter(&range_cache);
    void *one = allocated(SIZE), *two = allocated(SIZE), *three = allocated(SIZE);
    keep(&nobodys, three, SIZE);
    assert(range_cache_granules(&nobodys) == 0 && free_granules(MAPPED) == 2);
    three = allocated(SIZE);
    keep(&range_cache, one, SIZE);
    keep(&range_cache, two, SIZE);
    assert(range_cache_granules(&range_cache) == 4 && free_granules(MAPPED) == 0);
    keep(&range_cache, three, SIZE); /* there are two ways */
    assert(range_cache_granules(&range_cache) == 4 && free_granules(MAPPED) == 2);
    range_place(range_acquire(FOR_SMALL_SLABS, MAPPED, 2), UNMAPPED);
    two = large_allocate_cached(&range_cache, SIZE);
    assert(two == one && range_cache_granules(&range_cache) == 2); /* the first one */
    fill(two, SIZE, 1);
    range_cache_drain(&range_cache, false);
    keep(&range_cache, two, SIZE);
    rounds(2, 0); /* the one that was cached is old, the other is not, and then is */
    assert(free_granules(MAPPED) == 0 && root_count() == 0);
    one = allocated(2 * SIZE);
    three = allocated(GRANULE_SIZE);
    keep(&range_cache, one, 2 * SIZE);
    keep(&range_cache, three, GRANULE_SIZE);
    two = allocated(SIZE); /* a larger range is cached, and is cut, before memory without pages comes into use */
    assert(two == one && range_cache_granules(&range_cache) == 1 && free_granules(MAPPED) == 2);
    assert(allocated(GRANULE_SIZE) == three);
    large_free(three);
    for (unsigned i = 0; i < 2 * RANGE_CACHE_PERIOD; i++) {
        keep(&range_cache, two, SIZE);
        two = allocated(SIZE);
    }
    assert(range_cache.room == range_cache.most); /* nothing is cached, and the thread knows it */
    options.cache_min = GRANULE_SIZE;             /* less than the range has */
    range_cache_enter(&late);
    keep(&late, two, SIZE);
    assert(range_cache_granules(&late) == 0);
    range_cache_enter(NULL);
    end();
    return 0;
}
