/* mid_cache.c - opens a cache for a class, holds and leaves slabs, and tells which objects are cached. */
#include "midend/mid_cache.h"

#include "midend/mid_slab.h"
#include "sync/hint_counter.h"

static uint64_t cached_key, parents_key; /* of cached objects' links; of those from before a fork */
struct mid_state mid_no_slab;
static struct hint_counter holds_begun; /* holds that count (mid_cache_count_next_hold) */

COLD void mid_cache_renew_key(uint64_t random) {
    parents_key = cached_key;
    cached_key = link_key_of(random);
}

void mid_cache_count_next_hold(struct mid_cache *cache) {
    mid_word_note(&cache->left, mid_empty(0));
}

void mid_cache_open(struct mid_cache *cache, unsigned class) {
    const struct mid_shape *shape = &mid_shapes[class];
    if (cache->class_plus_1 == 0) mid_cache_count_next_hold(cache);
    cache->start = NULL;
    cache->state = &mid_no_slab;
    cache->held_bytes = 0;
    cache->bytes = shape->count * shape->size;
    cache->size = shape->size;
    cache->reciprocal = shape->reciprocal;
    cache->class_plus_1 = class + 1;
    cache->room = 0;
    cache->most = shape->cache_room;
    mid_cache_renew_misses(cache);
    cache->cached = NULL;
    cache->key = cached_key;
}

/* The thread may sleep with what it holds, and only a round gives that back. So rounds must come if there are many new
 * holds. */
static void count_hold(struct mid_cache *cache) {
    if (mid_same(mid_word_get(&cache->left), mid_full())) return;
    mid_word_note(&cache->left, mid_full());
    if (hint_counter_add(&holds_begun) % MID_ROUND_FROM == 0) thrift_wake();
}

void mid_cache_hold(struct mid_cache *cache, granule_id slab) {
    cache->start = granule_address(slab);
    cache->state = mid_state_at(slab);
    cache->held_bytes = cache->bytes;
    mid_hold_begin(&cache->hold, slab);
    count_hold(cache);
}

NOINLINE void mid_slab_leave(granule_id slab) {
    if (mid_is_listed(mid_word_leave(mid_state_at(slab)))) mid_slab_place(slab, mid_class_of_slab(slab));
}

wide_bool cached_may_lead(uint64_t next, unsigned class_plus_1) {
    return cached_may_lead_fast(next, class_plus_1);
}

void *cached_next(const struct mid_cache *cache, const void *object) {
    uint64_t next = cached_link_next(object, cache->key);
    if (!cached_may_lead(next, cache->class_plus_1)) misuse(WRITE_AFTER_FREE, object, 0);
    return (void *)(uintptr_t)next;
}

static NOINLINE wide_bool has_link(const void *object, unsigned class, uint64_t key) {
    return cached_may_lead(cached_link_next(object, key), class + 1);
}

wide_bool mid_has_link(const void *object, unsigned class) {
    return has_link(object, class, cached_key) || (parents_key && has_link(object, class, parents_key));
}

wide_bool mid_is_cached(const struct mid_cache *caches, const void *object) {
    for (const struct mid_cache *cache = caches; cache < caches + MID_CACHES; cache++)
        for (const void *cached = cache->cached; cached; cached = cached_next(cache, cached))
            if (cached == object) return true;
    return false;
}

/* Marks in misses_left: nothing was allocated from the class since the heap was last collected, since a round was here.
 * The marks and the count may be lost where a round and the thread write at once. */
#define MID_CACHE_IDLE 0x80u
#define MID_CACHE_ASLEEP 0x40u
_Static_assert(MID_MISSES_UNTIL_DRAIN < MID_CACHE_ASLEEP, "the misses stand below the marks");

static uint32_t misses_left(const struct mid_cache *cache) {
    return atomic_load_explicit(&cache->misses_left, memory_order_relaxed);
}

/* Marks the cache. Returns whether it had the mark. */
static bool mark_cache(struct mid_cache *cache, uint32_t mark) {
    uint32_t misses = misses_left(cache);
    atomic_store_explicit(&cache->misses_left, (uint8_t)(misses | mark), memory_order_relaxed);
    return misses & mark;
}

bool mid_cache_sleeps(struct mid_cache *cache) {
    return mark_cache(cache, MID_CACHE_ASLEEP);
}

bool mid_cache_idles(struct mid_cache *cache) {
    return mark_cache(cache, MID_CACHE_IDLE);
}

bool mid_cache_misses(struct mid_cache *cache) {
    uint32_t misses = misses_left(cache) - 1;
    atomic_store_explicit(&cache->misses_left, (uint8_t)misses, memory_order_relaxed);
    return misses % MID_CACHE_ASLEEP == 0;
}
