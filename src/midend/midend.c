/* midend.c - allocation and free of mid objects, and the way of their slabs. */
#include "midend/midend.h"

#include <string.h>

#include "backend/slab_source.h"
#include "base/assert.h"
#include "midend/mid_slab.h"
#include "platform/host.h"
#include "platform/platform.h"
#include "sync/id_stack.h"

static uint64_t cached_key, parents_key; /* of cached objects' links; of those from before a fork */
struct nest mid_nest;
static struct id_stack deferred; /* slabs whose Nest was busy, through their links */
_Atomic(size_t) mid_slab_counts[CLASSES];
static _Atomic(uint32_t) no_longer_full; /* slabs, since the start: a hint */
static struct mid_state no_slab;         /* has no bits, ever */

COLD void midend_renew_key(uint64_t random) {
    parents_key = cached_key;
    cached_key = link_key_of(random);
}

COLD void midend_start(void) {
    midend_renew_key(platform_random());
    mid_shapes_start();
    midend_round_start();
}

static unsigned class_for(size_t size, size_t alignment) {
    unsigned class = mid_class_of(size);
    while (class < mid_class_count && mid_shapes[class].size & (alignment - 1)) class ++;
    return class;
}

/* The slab is out of the Nest and all its objects are free: nobody else can know it. */
void mid_slab_retire(granule_id slab, unsigned class) {
    invariant(mid_is_empty(mid_word_get(mid_state_at(slab)), mid_all_free(class)));
    for (uint32_t i = 1; i < mid_shapes[class].weight; i++) leaf_set(slab + i, leaf_none());
    mid_word_set(mid_state_at(slab), mid_full());
    atomic_fetch_sub_explicit(&mid_slab_counts[class], 1, memory_order_relaxed);
    slab_place(MID_KINDS + class, slab, mid_shapes[class].weight);
}

/* Into the Nest, or onto the deferred list when that is busy (false). */
static bool place_or_defer(granule_id slab, unsigned class) {
    if (nest_place(&mid_nest, class, slab)) return true;
    id_stack_push(&deferred, slab, range_set_next);
    return false;
}

/* A listed slab may have become empty. If another thread has it, that thread sees so after placing it. The slab may
 * also be gone, and its words another range's: but what nest_take_given gives is a listed slab of this class. */
static void retire_if_empty(granule_id slab, unsigned class) {
    /* [MF1] seq_cst: of who empties a slab and who places it, one sees what the other did; pairs [MF1]; client
     * midend_states */
    atomic_thread_fence(memory_order_seq_cst);
    if (!mid_is_empty(mid_word_get(mid_state_at(slab)), mid_all_free(class))) return;
    if (!nest_has_many(&mid_nest, class)) return; /* the class keeps one until the next round */
    if (!nest_take_given(&mid_nest, class, slab, leaf_mid(class))) return;
    /* [MW1] acquire: the objects' last uses come before the range's next; pairs [MW3]; client midend_discard_last */
    struct mid_word word = mid_word_load(mid_state_at(slab), memory_order_acquire);
    if (mid_is_empty(word, mid_all_free(class))) mid_slab_retire(slab, class);
    else if (place_or_defer(slab, class)) retire_if_empty(slab, class);
}

void mid_slab_place(granule_id slab, unsigned class) {
    if (place_or_defer(slab, class)) retire_if_empty(slab, class);
}

bool mid_slab_place_deferred(void) {
    granule_id slab = id_stack_take_all(&deferred);
    if (!slab) return false;
    for (granule_id next; slab; slab = next) {
        next = range_next(slab);
        mid_slab_place(slab, mid_class_of_slab(slab));
    }
    return true;
}

static granule_id make_mid_slab(unsigned class) {
    bool zeroed;
    void *start = slab_fetch(MID_KINDS + class, FOR_RANGES, mid_shapes[class].weight, &zeroed);
    if (!start) return 0;
    granule_id slab = granule_of(start);
    if (JW_SECURE && !zeroed) memset(start, 0, (size_t)mid_shapes[class].weight << JW_GRANULE_SHIFT);
    for (uint32_t i = 1; i < mid_shapes[class].weight; i++) leaf_set(slab + i, leaf_interior(class, i));
    leaf_set(slab, leaf_mid(class));
    fill_write(start, 0, (size_t)mid_shapes[class].count * mid_shapes[class].size);
    mid_word_set(mid_state_at(slab), mid_empty(mid_all_free(class)));
    atomic_fetch_add_explicit(&mid_slab_counts[class], 1, memory_order_relaxed);
    return slab;
}

static void open_cache(struct mid_cache *cache, unsigned class) {
    const struct mid_shape *shape = &mid_shapes[class];
    cache->start = NULL;
    cache->state = &no_slab;
    cache->held = 0;
    cache->bytes = shape->count * shape->size;
    cache->size = shape->size;
    cache->reciprocal = shape->reciprocal;
    cache->kind = class + 1;
    cache->room = 0;
    cache->most = shape->cached;
    cache->misses_left = MID_MISSES_UNTIL_DRAIN;
    cache->cached = NULL;
    cache->key = cached_key;
}

static void note_held(struct mid_cache *cache, granule_id slab) {
    cache->start = granule_address(slab);
    cache->state = mid_state_at(slab);
    cache->held = cache->bytes;
}

/* Claims an object of a slab that this thread took out of the Nest. Unless the slab is full now, it is held, or placed
 * again if there is no `cache` for it. */
static void *claim(granule_id slab, unsigned class, struct mid_cache *cache) {
    struct mid_word word = mid_word_get(mid_state_at(slab)), rest;
    uint32_t bit;
    do {
        invariant(!mid_is_held(word) && mid_is_listed(word) && mid_free_bits(word));
        bit = mid_choose(mid_free_bits(word));
        rest = mid_claimed(word, bit, cache);
        /* [MW2] acquire: the object's last user is done with it; release: the slab's words, to who frees into it when
         * it is full; pairs [MW3]; clients midend_claim_deferred midend_full_words */
    } while (!mid_word_change_weak(mid_state_at(slab), &word, rest, memory_order_acq_rel));
    if (mid_is_held(rest)) note_held(cache, slab);
    else if (mid_is_listed(rest)) mid_slab_place(slab, class);
    char *object = granule_address(slab) + (size_t)__builtin_ctz(bit) * mid_shapes[class].size;
    fill_check(object, 0, mid_shapes[class].size);
    return object;
}

/* The slab's holder leaves it to all threads. */
static NOINLINE void leave_slab(struct mid_cache *cache) {
    granule_id slab = granule_of(cache->start);
    unsigned class = cache->kind - 1;
    cache->held = 0;
    cache->state = &no_slab;
    struct mid_word word = mid_word_get(mid_state_at(slab)), rest;
    do {
        invariant(mid_is_held(word) && mid_is_listed(word));
        rest = mid_left(word);
        /* relaxed: since MW2 the holder has changed no words of the slab, and its frees are passed on by placing it */
    } while (!mid_word_change_weak(mid_state_at(slab), &word, rest, memory_order_relaxed));
    if (mid_is_listed(rest)) mid_slab_place(slab, class);
}

/* A slab that was full. Should no range become free meanwhile, a round comes for the pages of many all the same. */
static void place_first(granule_id slab, unsigned class) {
    mid_slab_place(slab, class);
    uint32_t before = atomic_load_explicit(&no_longer_full, memory_order_relaxed);
    /* not one step: whose count is lost has others count once more, and nobody waits for the line */
    atomic_store_explicit(&no_longer_full, before + 1, memory_order_relaxed);
    if (before % MID_ROUND_FROM == MID_ROUND_FROM - 1) thrift_wake();
}

/* The slab of an object and the object's bit; 0 when the address is not one. */
static ALWAYS_INLINE granule_id find_object(const void *object, unsigned *class, uint32_t *bit) {
    granule_id slab = granule_start(granule_of(object));
    struct leaf_word first = leaf_get(slab);
    if (leaf_kind(first) != MID) return 0;
    *class = leaf_class(first);
    const struct mid_shape *shape = &mid_shapes[*class];
    uintptr_t distance = (uintptr_t)object - (uintptr_t)granule_address(slab);
    if (distance >= (uintptr_t)shape->count * shape->size) return 0; /* the tail, or a foreign address */
    uint32_t offset = (uint32_t)distance, index = (uint32_t)((uint64_t)offset * shape->reciprocal >> 32);
    if (index * shape->size != offset) return 0;
    *bit = 1u << index;
    return slab;
}

granule_id mid_slab_of(const void *object, unsigned *class, uint32_t *bit) {
    return find_object(object, class, bit);
}

bool mid_has_link(const void *object, unsigned class) {
    uint64_t word = *(const link_word *)object ^ (uintptr_t)object;
    return cached_may_lead(word ^ cached_key, class + 1) ||
           (parents_key && cached_may_lead(word ^ parents_key, class + 1));
}

bool mid_is_cached(const struct mid_cache *caches, const void *object) {
    for (const struct mid_cache *cache = caches; cache < caches + MID_CACHES; cache++)
        for (const void *cached = cache->cached; cached; cached = cached_next(cache, cached))
            if (cached == object) return true;
    return false;
}

/* None is cached from then on until the class is allocated from. */
static NOINLINE void drain_cached(struct mid_cache *cache) {
    for (void *object = cache->cached, *next; object; object = next) {
        cached_check(cache, object);
        next = cached_next(cache, object);
        link_clear(object);
        midend_free(NULL, object);
    }
    cache->cached = NULL;
    cache->room = 0;
}

static void let_go(struct mid_cache *cache) {
    if (cache->cached) drain_cached(cache);
    cache->room = 0;
    if (cache->held) leave_slab(cache);
}

void midend_let_go(struct mid_cache *caches) {
    for (unsigned i = 0; i < MID_CACHES; i++) let_go(&caches[i]);
}

void midend_collect(struct mid_cache *caches) {
    for (struct mid_cache *cache = caches; cache < caches + MID_CACHES; cache++) {
        if (cache->misses_left & MID_IDLE) let_go(cache);
        cache->misses_left |= MID_IDLE;
    }
}

/* A free that found no room. */
static void count_miss(struct mid_cache *cache, unsigned class) {
    if (cache->kind == class + 1 && cache->cached && (--cache->misses_left & ~MID_IDLE) == 0) drain_cached(cache);
}

bool midend_free(struct mid_cache *caches, void *object) {
    unsigned class = 0;
    uint32_t bit = 0;
    granule_id slab = find_object(object, &class, &bit);
    if (!slab) misuse(INVALID_FREE, object, 0);
    struct mid_word word = mid_word_get(mid_state_at(slab)), now;
    if (!mid_has_free(word, bit) && UNLIKELY(mid_may_be_cached(object)) && mid_has_link(object, class)) return false;
    if (!mid_has_free(word, bit)) fill_write(object, 0, mid_shapes[class].size);
    do {
        if (mid_has_free(word, bit)) misuse(DOUBLE_FREE, object, 0);
        now = mid_freed(word, bit);
        /* [MW3] release: the object's last use; acquire: the slab's words, from who filled it; pairs [MW1] [MW2]
         * [MW4] [MH1]; clients midend_free_allocate midend_full_words */
    } while (!mid_word_change_weak(mid_state_at(slab), &word, now, memory_order_acq_rel));
    if (!mid_is_listed(word)) place_first(slab, class);
    else if (mid_is_empty(now, mid_all_free(class))) retire_if_empty(slab, class);
    if (caches) count_miss(&caches[class % MID_CACHES], class);
    return true;
}

static granule_id find_slab(unsigned class) {
    granule_id slab = nest_take(&mid_nest, class);
    if (!slab && mid_slab_place_deferred()) slab = nest_take(&mid_nest, class);
    return slab ? slab : make_mid_slab(class);
}

/* `cache`: the cache that will hold the slab, NULL: none. */
static void *allocate_anew(struct mid_cache *cache, unsigned class) {
    granule_id slab = find_slab(class);
    return slab ? claim(slab, class, cache) : NULL;
}

static void *mid_refill(struct mid_cache *cache, unsigned class) {
    if (LIKELY(cache->kind == class + 1)) {
        if (cache->held) leave_slab(cache);
        cache->room = cache->most;
    } else {
        let_go(cache);
        open_cache(cache, class);
    }
    return allocate_anew(cache, class);
}

void *midend_allocate_anew(struct mid_cache *caches, size_t size) {
    unsigned class = mid_class_of(size);
    return LIKELY(class < mid_class_count) ? mid_refill(&caches[class % MID_CACHES], class) : NULL;
}

void *midend_allocate(struct mid_cache *caches, size_t size, size_t alignment) {
    unsigned class = class_for(size, alignment);
    if (class >= mid_class_count) return NULL;
    if (!caches) return allocate_anew(NULL, class);
    struct mid_cache *cache = &caches[class % MID_CACHES];
    void *object = mid_cache_take(cache, class);
    return object ? object : mid_refill(cache, class);
}

size_t midend_usable_size(const struct mid_cache *caches, const void *object) {
    unsigned class = 0;
    uint32_t bit = 0;
    granule_id slab = mid_slab_of(object, &class, &bit);
    if (!slab || mid_has_free(mid_word_get(mid_state_at(slab)), bit)) return 0;
    return UNLIKELY(mid_may_be_cached(object)) && mid_is_cached(caches, object) ? 0 : mid_shapes[class].size;
}

size_t midend_good_size(size_t size, size_t alignment) {
    unsigned class = class_for(size, alignment);
    return class < mid_class_count ? mid_shapes[class].size : backend_good_size(size);
}

OF_FORKING_THREAD uint64_t lists_locked;

COLD void midend_before_fork(void) {
    lists_locked = nest_lock_all(&mid_nest);
}

COLD void midend_after_fork(bool child) {
    nest_unlock_all(&mid_nest, child ? ~(uint64_t)0 : lists_locked);
}
