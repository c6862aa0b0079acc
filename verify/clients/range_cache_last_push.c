/* range_cache_last_push - a thread caches a range for the last time, while a round that was asked for begins.
 *
 * bound     2 threads: 1 free of a large object | 1 round, by a thread that frees
 * property  no push is missed: the round finds the range, or the next round is asked for
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1 -DJW_RANGE_CACHE_WAYS=1
 */
#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct range_cache range_cache;
static void *object;
static bool found; /* by the round */

static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    found = range_cache_drain(&range_cache, false);
    return found;
}

static void *pushing(void *unused) {
    (void)unused;
    range_cache_enter(&range_cache);
    large_cache(&range_cache, large_try_begin_free(object));
    range_cache_enter(NULL);
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    thrift_take_turn();
    return NULL;
}

int main(void) {
    bool zeroed;
    begin();
    options.reclaim_start = 0;
    object = large_allocate(SIZE, 1, &zeroed);
    thrift_on_round(ROUND_SLABS, on_round);
    atomic_store_explicit(&reclaimer->state, ROUNDS_BY_FREES, memory_order_relaxed);
    atomic_store_explicit(&model_milliseconds, option(&options.reclaim_interval), memory_order_relaxed);
    thrift_wake();
    pthread_t a = start(pushing, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    assert(found || reclaimer_is_asked());
    range_cache_drain(&range_cache, true);
    end();
    return 0;
}
