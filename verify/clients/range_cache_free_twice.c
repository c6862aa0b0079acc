/* range_cache_free_twice - two threads free the same large object, each to cache its range: a misuse.
 *
 * bound     2 threads: 1 free each
 * property  one of the two is told; the other has the range
 */
#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct range_cache range_caches[2];
static void *object;
static _Atomic(unsigned) told;

static void *freeing(void *range_cache) {
    range_cache_enter(range_cache);
    granule_id range = large_try_begin_free(object);
    if (range) large_cache(range_cache, range);
    else atomic_fetch_add_explicit(&told, 1, memory_order_relaxed);
    range_cache_enter(NULL);
    return NULL;
}

int main(void) {
    bool zeroed;
    begin();
    object = large_allocate(SIZE, 1, &zeroed);
    assert(object);
    pthread_t a = start(freeing, &range_caches[0]), b = start(freeing, &range_caches[1]);
    finish(a);
    finish(b);
    assert(atomic_load_explicit(&told, memory_order_relaxed) == 1);
    assert(range_cache_granules(&range_caches[0]) + range_cache_granules(&range_caches[1]) == 2);
    for (size_t i = 0; i < 2; i++) range_cache_drain(&range_caches[i], true);
    end();
    return 0;
}
