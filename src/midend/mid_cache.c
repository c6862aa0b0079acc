/* mid_cache.c - opens a cache for a class, holds and leaves slabs, and tells which objects are cached. */
#include "midend/mid_cache.h"

#include "midend/mid_slab.h"

static uint64_t cached_key, parents_key; /* of cached objects' links; of those from before a fork */
static struct mid_state no_slab;         /* has no bits, ever */

COLD void mid_cache_renew_key(uint64_t random) {
    parents_key = cached_key;
    cached_key = link_key_of(random);
}

void mid_cache_open(struct mid_cache *cache, unsigned class) {
    const struct mid_shape *shape = &mid_shapes[class];
    cache->start = NULL;
    cache->state = &no_slab;
    cache->held_bytes = 0;
    cache->bytes = shape->count * shape->size;
    cache->size = shape->size;
    cache->reciprocal = shape->reciprocal;
    cache->class_plus_1 = class + 1;
    cache->room = 0;
    cache->most = shape->cache_room;
    cache->misses_left = MID_MISSES_UNTIL_DRAIN;
    cache->cached = NULL;
    cache->key = cached_key;
}

void mid_cache_hold(struct mid_cache *cache, granule_id slab) {
    cache->start = granule_address(slab);
    cache->state = mid_state_at(slab);
    cache->held_bytes = cache->bytes;
}

NOINLINE void mid_cache_leave(struct mid_cache *cache) {
    granule_id slab = granule_of(cache->start);
    unsigned class = cache->class_plus_1 - 1;
    cache->held_bytes = 0;
    cache->state = &no_slab;
    if (mid_is_listed(mid_word_leave(mid_state_at(slab)))) mid_slab_place(slab, class);
}

bool mid_has_link(const void *object, unsigned class) {
    return cached_may_lead(cached_link_next(object, cached_key), class + 1) ||
           (parents_key && cached_may_lead(cached_link_next(object, parents_key), class + 1));
}

bool mid_is_cached(const struct mid_cache *caches, const void *object) {
    for (const struct mid_cache *cache = caches; cache < caches + MID_CACHES; cache++)
        for (const void *cached = cache->cached; cached; cached = cached_next(cache, cached))
            if (cached == object) return true;
    return false;
}
