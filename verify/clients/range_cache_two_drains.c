/* range_cache_two_drains - two threads drain the range cache of a third one, which sleeps.
 *
 * bound     2 threads: 1 round; 1 purge. Three cached ranges, one of them is old
 * property  each range is taken once, and the count of what was taken is right
 * defines   -DJW_RANGE_CACHE_WAYS=2 -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE, OBJECTS = 3 };

static struct range_cache range_cache;

static void *draining(void *unused) {
    (void)unused;
    range_cache_drain(&range_cache, false);
    return NULL;
}

static void *purging(void *unused) {
    (void)unused;
    range_cache_drain(&range_cache, true);
    return NULL;
}

int main(void) {
    void *objects[OBJECTS];
    bool zeroed;
    begin();
    range_cache_enter(&range_cache);
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = large_allocate(i < 2 ? SIZE : GRANULE_SIZE, 1, &zeroed);
    for (size_t i = 0; i < OBJECTS; i++) {
        granule_id range = large_try_begin_free(objects[i]);
        assert(range);
        large_cache(&range_cache, range);
        if (i == 0) range_cache_drain(&range_cache, false);
    }
    assert(range_cache_granules(&range_cache) == 5);
    pthread_t a = start(draining, NULL), b = start(purging, NULL);
    finish(a);
    finish(b);
    assert(range_cache_granules(&range_cache) == 0);
    assert(atomic_load_explicit(&range_cache.drained, memory_order_relaxed) == 5);
    range_cache_enter(NULL);
    end();
    return 0;
}
