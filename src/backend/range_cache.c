/* range_cache.c - a thread's freed ranges: push, drain, and how many there may be. */
#include "backend/range_cache.h"

#include "backend/reclaimer.h"
#include "backend/thrift.h"
#include "config/options.h"
#include "platform/assert.h"

static _Atomic(uint32_t) range_cache_users; /* threads that have a range cache */

#if !JW_HOSTED
_Thread_local struct range_cache *range_cache_mine __attribute__((tls_model("initial-exec")));

void range_cache_enter(struct range_cache *cache) {
    if (!cache != !range_cache_mine)
        atomic_fetch_add_explicit(&range_cache_users, cache ? 1u : -1u, memory_order_relaxed);
    range_cache_mine = cache;
}
#endif

COLD void range_cache_after_fork(void) {
    atomic_store_explicit(&range_cache_users, range_cache_mine != NULL, memory_order_relaxed);
}

/* At least 1. The count is 0 if a fork interrupted a free of this thread: the child has left that heap. */
static uint32_t cache_users(void) {
    uint32_t users = NEAR_LOAD(range_cache_users);
    return users ? users : 1;
}

static void set_quiet_room(struct range_cache *cache, int32_t granules) {
    atomic_store_explicit(&cache->quiet_room, granules, memory_order_relaxed);
}

/* Gives the cache its share of the watermark, less what waits beyond RANGE_CACHE_BESIDE: each thread with a range cache
 * has an equal one. */
static NOINLINE void renew_room(struct range_cache *cache) {
    uint32_t drained = atomic_load_explicit(&cache->drained, memory_order_relaxed), threads = cache_users();
    int32_t filled = cache->most - cache->room - (int32_t)(drained - cache->drained_seen);
    cache->drained_seen = drained;
    intptr_t all = (intptr_t)watermark_renew(), beyond = (intptr_t)free_granules(MAPPED) - RANGE_CACHE_BESIDE;
    intptr_t share = (all - (beyond > 0 ? beyond : 0)) / (int32_t)threads;
    cache->most = share < RANGE_CACHE_MOST ? (int32_t)share : RANGE_CACHE_MOST;
    cache->room = cache->most - filled;
    if (reclaimer_patience()) return;
    set_quiet_room(cache,
                   cache->most - (int32_t)(option(&options.reclaim_start) >> JW_GRANULE_SHIFT) / (int32_t)threads);
}

static NOINLINE wide_bool round_is_not_asked(void) {
    /* [RC1] seq_cst: the push, then this look; a round clears round_asked, then looks at the slot: one sees what the
     * other did; pairs [RC2]; client range_cache_last_push */
    atomic_thread_fence(memory_order_seq_cst);
    return !reclaimer_is_asked() || reclaimer_patience() > 0;
}

static ALWAYS_INLINE bool needs_round(const struct range_cache *cache) {
    return cache->room <= atomic_load_explicit(&cache->quiet_room, memory_order_relaxed) && round_is_not_asked();
}

/* The reclamation thread waits patiently: a cache tells of its ranges when it has twice as many as when it told last.
 * Returns whether all that was told of is little. */
static bool cache_tells(struct range_cache *cache) {
    int32_t cached = cache->most - cache->room;
    set_quiet_room(cache, cache->room - cached);
    return thrift_may_hold((size_t)cached);
}

/* Rounds must come while enough is cached; without the reclamation thread, frees run the rounds. Granules that rounds
 * have drained are subtracted first: a thread that now and then frees a little must not wake the reclamation thread. */
static NOINLINE void ask_for_rounds(struct range_cache *cache) {
    renew_room(cache);
    if (cache->pushes % RANGE_CACHE_PERIOD == 0) {
        thrift_notice();
        thrift_take_turn(); /* thrift_notice looks at the clock only now and then */
    }
    if (needs_round(cache) && !(reclaimer_patience() && cache_tells(cache))) thrift_wake();
}

static ALWAYS_INLINE void push_into_slot(struct range_cache *cache, struct cell *slot, granule_id range,
                                         uint32_t weight) {
    invariant(leaf_same(leaf_get(range), leaf_held()) && knit_weight(range) == weight);
    cache->room -= (int32_t)weight;
    cache->filled |= (uint64_t)1 << class_of_weight(weight);
    cell_fill(slot, range); /* publishes the range's words, and the object's last use */
    if (UNLIKELY(++cache->pushes % RANGE_CACHE_PERIOD == 0 || needs_round(cache))) ask_for_rounds(cache);
}

/* Whether the cache's share may be another one than at the last look. A cache that has no room looks only now and then:
 * each look sums what is in use. Counts the push. */
static bool share_may_differ(struct range_cache *cache) {
    return cache->pushes++ % RANGE_CACHE_PERIOD == 0 ||
           atomic_load_explicit(&cache->drained, memory_order_relaxed) != cache->drained_seen;
}

/* Whether a cache that had no room at the first look has some now. */
static NOINLINE wide_bool room_is_new(struct range_cache *cache, uint32_t weight) {
    if (cache != range_cache_mine || !share_may_differ(cache)) return false;
    renew_room(cache);
    return cache->room >= (int32_t)weight;
}

void range_cache_push(struct range_cache *cache, granule_id range, uint32_t weight) {
    struct cell *slot = cache->slots[class_of_weight(weight)], *end = slot + RANGE_CACHE_WAYS;
    while (slot < end && cell_look(slot)) slot++;
    if (LIKELY(slot < end) && (LIKELY(cache->room >= (int32_t)weight) || room_is_new(cache, weight)))
        push_into_slot(cache, slot, range, weight);
    else thrift_place_freed(range, weight);
}

granule_id range_cache_pop(struct range_cache *cache, uint32_t granules, uint64_t classes) {
    unsigned least = class_of_weight(granules);
    for (classes &= cache->filled >> least; classes; classes &= classes - 1) {
        unsigned range_class = least + (unsigned)__builtin_ctzll(classes);
        struct cell *slot = cache->slots[range_class];
        for (struct cell *end = slot + RANGE_CACHE_WAYS; slot < end; slot++) {
            if (cell_look(slot) == 0) continue;
            granule_id range = range_cache_range(cell_take_own(slot));
            if (range == 0) continue;
            cache->room += (int32_t)weight_of_class(range_class);
            return range;
        }
        cache->filled &= ~((uint64_t)1 << range_class);
    }
    return 0;
}

/* Marks the slot's range as old, or takes it if it is old already. `now`: takes it in any case. `word`: the slot at the
 * first look. Returns the range that was taken; 0: none. */
static granule_id drain_slot(struct cell *slot, uint32_t word, bool now) {
    if (now) return range_cache_range(cell_take(slot));
    granule_id range = range_cache_range(word);
    bool old = range_cache_is_old(word);
    bool changed = cell_change(slot, word, old ? 0 : range_cache_with_old(range));
    return changed && old ? range : 0;
}

wide_bool range_cache_drain(struct range_cache *cache, bool now) {
    size_t left = 0;
    for (unsigned i = 0; i < RANGE_CLASSES * RANGE_CACHE_SLOTS; i++) {
        struct cell *slot = &cache->slots[0][0] + i;
        uint32_t word = cell_look(slot), weight = weight_of_class(i / RANGE_CACHE_SLOTS);
        granule_id range = word ? drain_slot(slot, word, now) : 0;
        left += word && !range ? weight : 0;
        if (!range) continue;
        invariant(leaf_same(leaf_get(range), leaf_held()) && knit_weight(range) == weight);
        atomic_fetch_add_explicit(&cache->drained, weight, memory_order_relaxed);
        if (now) thrift_place_freed(range, weight);
        else give_back_and_place(range, weight, false);
    }
    set_quiet_room(cache, INT32_MAX); /* how much needs no round may be less from now on: the next push finds out */
    thrift_may_hold(left);
    return left > 0;
}

#if !JW_HOSTED
void range_cache_close(struct range_cache *cache) {
    range_cache_drain(cache, true); /* counts in `drained`: so the next push looks at the share */
    cache->most -= cache->room;     /* what is cached stays their difference */
    cache->room = 0;
    range_cache_enter(NULL);
}
#endif

COLD void range_cache_shrink(struct range_cache *cache, uint32_t least, int32_t kept) {
    granule_id range;
    while (cache->most - cache->room > kept && (range = range_cache_pop(cache, least, CACHED_LARGER)))
        thrift_place_freed(range, knit_weight(range));
    set_quiet_room(cache, INT32_MAX); /* as after a drain */
}

COLD size_t range_cache_granules(struct range_cache *cache) {
    size_t granules = 0;
    for (unsigned i = 0; i < RANGE_CLASSES * RANGE_CACHE_SLOTS; i++)
        if (cell_look(&cache->slots[0][0] + i)) granules += weight_of_class(i / RANGE_CACHE_SLOTS);
    return granules;
}
