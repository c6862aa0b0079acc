/* range_cache_owner.h - a thread that caches a range and pops it again, beside another thread. For clients. */
#ifndef RANGE_CACHE_OWNER_H
#define RANGE_CACHE_OWNER_H

#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct range_cache range_cache;
static void *object;

static void keep(void *freed) {
    granule_id range = large_try_begin_free(freed);
    assert(range);
    large_cache(&range_cache, range);
}

static void *owning(void *unused) {
    (void)unused;
    range_cache_enter(&range_cache);
    fill(object, SIZE, 1);
    keep(object);
    if ((object = large_allocate_cached(&range_cache, SIZE))) {
        fill(object, SIZE, 2);
        keep(object);
    }
    range_cache_enter(NULL);
    return NULL;
}

/* Runs both threads; in the end the range is free once, and the count of what is cached is right. */
static void own_beside(void *(*other)(void *)) {
    bool zeroed;
    begin();
    object = large_allocate(SIZE, 1, &zeroed);
    assert(object);
    pthread_t a = start(owning, NULL), b = start(other, NULL);
    finish(a);
    finish(b);
    granule_id left = (granule_id)range_cache_granules(&range_cache);
    uint32_t drained = atomic_load_explicit(&range_cache.drained, memory_order_relaxed) - range_cache.drained_seen;
    assert(range_cache.most - range_cache.room - (int32_t)drained == (int32_t)left);
    range_cache_drain(&range_cache, false); /* what the last push has left: seen, then given back */
    range_cache_drain(&range_cache, false);
    assert(range_cache_granules(&range_cache) == 0);
    end();
}

#endif
