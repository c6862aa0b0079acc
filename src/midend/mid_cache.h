/* mid_cache.h - what a thread keeps of the midend, so that most calls change nothing that is shared. Of some classes it
 * keeps a slab that it allocates from, and a few cached objects.
 *
 * A cached object was freed by the thread and waits in its list for the next allocation. Its bit in the slab's word
 * still says "in use". So no other thread has the object, in whichever slab it is, and no atomic operation is needed.
 * Its first word is a link as in the frontend (sync/free_link.h), with another key. Its second word is the number of
 * the heap that caches it. So a thread that frees the object again knows which heap's list settles the question
 * (frontend/suspect.h). An object that leaves the list has 0 in its first word.
 *
 *   room         free entries of this cache. While room > 0, each freed object of the class is cached. Two allocations
 *                in a row from the class make room. So two classes that share a cache do not evict each other
 *   misses_left  how many frees may find no room until the class is allocated from again; then all cached objects go
 *                back, and there is no room. So a thread that only frees keeps none
 *
 * Inline are the hit paths of malloc and free (mid_cache_pop, mid_cache_free) and their steps. The rest is in
 * mid_cache.c. The hardened build has no cached objects.
 */
#ifndef JW_MID_CACHE_H
#define JW_MID_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/page_map.h"
#include "config/policy.h"
#include "midend/mid_hold.h"
#include "midend/mid_word.h"
#include "platform/fill.h"
#include "sync/free_link.h"

/* The cache serves one class: the one last allocated from. It has what the hit paths need of that class. */
struct mid_cache {
    char *start;                      /* of the slab */
    struct mid_state *state;          /* the slab's; a word without bits where there is none */
    uint32_t held_bytes;              /* bytes of the slab's objects, 0: there is no slab */
    uint32_t class_plus_1;            /* 0: it serves none yet */
    uint32_t bytes, size, reciprocal; /* of the class: of a slab's objects, of one, and to divide by that */
    uint32_t room;
    uint16_t most;                /* the room while nothing is cached */
    _Atomic(uint8_t) misses_left; /* with the marks of mid_cache.c */
    struct mid_state left;        /* the slab's word as a round has left it; full: no round has. A hint */
    struct mid_hold hold;         /* the slab, for rounds */
    uint32_t heap;                /* number of the heap that the cache belongs to */
    void *cached;                 /* the first cached object, NULL: none */
    uint64_t key;                 /* of the links; a copy for the hit paths */
};

/* The cache of a class: not that of the classes next to it, nor of those that are two or four times as large. Programs
 * often use such sizes in turn. */
static ALWAYS_INLINE unsigned mid_cache_of(unsigned class) {
    return (class + class / MID_CACHES) % MID_CACHES;
}

/* Whether a cached object's link may lead there: to another object of the class, as far as a few loads tell, or to the
 * end. All sizes of the midend are multiples of its unit. */
static ALWAYS_INLINE bool cached_may_lead_fast(uint64_t next, unsigned class_plus_1) {
    if (next == 0) return true;
    const void *object = (const void *)(uintptr_t)next;
    struct leaf_word leaf = leaf_of(object);
    return (uintptr_t)object == next && !(next & ((1u << JW_MIDEND_UNIT_SHIFT) - 1)) && page_map_owns_fast(object) &&
           (leaf_kind(leaf) == MID || leaf_kind(leaf) == INTERIOR) && leaf_class(leaf) == class_plus_1 - 1;
}

/* The cached object behind this one, NULL: none. A link that leads elsewhere was written by the program. */
static ALWAYS_INLINE void *cached_next_fast(const struct mid_cache *cache, const void *object) {
    uint64_t next = cached_link_next(object, cache->key);
    if (UNLIKELY(!cached_may_lead_fast(next, cache->class_plus_1))) misuse(WRITE_AFTER_FREE, object, 0);
    return (void *)(uintptr_t)next;
}

/* The same for all but the hit path, by a call. */
wide_bool cached_may_lead(uint64_t next, unsigned class_plus_1);
void *cached_next(const struct mid_cache *cache, const void *object);

/* Whether the first word of an object that is not free by its slab's word may be a link. */
static ALWAYS_INLINE bool mid_may_be_cached(const void *object) {
    return !QUARANTINED && *link_upper_half(object) >= LINK_MARK;
}

/* Whether the first word of an object is a link: to an object of the class, or an end. A program may have written
 * it. */
wide_bool mid_has_link(const void *object, unsigned class);

/* Whether the object is cached in one of these caches. They are the calling thread's, or those of a heap without a
 * thread. */
wide_bool mid_is_cached(const struct mid_cache *caches, const void *object);

/* Makes the cache an empty one of the class. */
void mid_cache_open(struct mid_cache *cache, unsigned class);

/* Lets the cache hold the slab, which the caller has. */
void mid_cache_hold(struct mid_cache *cache, granule_id slab);

/* Leaves a slab to all threads that was held and is in no hold any more. */
NOINLINE void mid_slab_leave(granule_id slab);

extern struct mid_state mid_no_slab HIDDEN; /* has no bits, ever */

/* Leaves the held slab to all threads. */
static ALWAYS_INLINE void mid_cache_leave(struct mid_cache *cache) {
    granule_id slab = mid_hold_end(&cache->hold);
    cache->held_bytes = 0;
    cache->state = &mid_no_slab;
    if (slab) mid_slab_leave(slab);
}

/* Changes the key of links for objects that are cached from now on. At the start, and in the child of a fork. */
void mid_cache_renew_key(uint64_t random);

/* Called by a round: whether nothing was allocated from the class since the last call. */
bool mid_cache_sleeps(struct mid_cache *cache);

/* Called when the thread's heap is collected: whether nothing was allocated from the class since the last call. */
bool mid_cache_idles(struct mid_cache *cache);

/* Counts a free for which the cache had no room. Returns whether that was the last one allowed. */
bool mid_cache_misses(struct mid_cache *cache);

/* Lets the cache's next hold of a slab count: each MID_ROUND_FROM-th hold that counts asks for a round. Called for a
 * new cache and for a drained one. The first hold after a round has been here counts in any case. */
void mid_cache_count_next_hold(struct mid_cache *cache);

/* The number of the heap that caches the object, if any does. */
static inline uint32_t cached_heap_number(const void *object) {
    return (uint32_t)((const link_word *)object)[1];
}

/* Checked builds: whether a cached object is as it was left. */
static ALWAYS_INLINE void cached_check(const struct mid_cache *cache, const void *object) {
    if (JW_FILL && !cached_may_lead(cached_link_next(object, cache->key), cache->class_plus_1))
        misuse(WRITE_AFTER_FREE, object, 0);
    if (JW_FILL && cached_heap_number(object) != cache->heap) misuse(WRITE_AFTER_FREE, object, sizeof(link_word));
    fill_check(object, 2 * sizeof(link_word), cache->size);
}

static ALWAYS_INLINE void cached_push(struct mid_cache *cache, void *object) {
    fill_write(object, 2 * sizeof(link_word), cache->size);
    cached_link_write(object, cache->cached, cache->key);
    ((link_word *)object)[1] = cache->heap;
    cache->cached = object;
    cache->room--;
}

static ALWAYS_INLINE void *cached_pop(struct mid_cache *cache) {
    void *object = cache->cached;
    cached_check(cache, object);
    cache->cached = cached_next_fast(cache, object);
    cache->room++;
    link_clear(object);
    return object;
}

/* Also removes the marks that say that the cache is idle. */
static ALWAYS_INLINE void mid_cache_renew_misses(struct mid_cache *cache) {
    atomic_store_explicit(&cache->misses_left, MID_MISSES_UNTIL_DRAIN, memory_order_relaxed);
}

/* Takes a cached object, or a free object of the held slab. NULL: there is none, or the cache serves another class, or
 * no class yet. */
static ALWAYS_INLINE void *mid_cache_pop(struct mid_cache *cache, unsigned class) {
    if (UNLIKELY(cache->class_plus_1 != class + 1)) return NULL;
    mid_cache_renew_misses(cache);
    if (!QUARANTINED && cache->cached) return cached_pop(cache);
    uint32_t bits = mid_free_bits(mid_word_get(cache->state));
    if (UNLIKELY(bits == 0)) return NULL;
    cache->room = cache->most;
    uint32_t index = mid_choose(bits);
    if (UNLIKELY(!mid_word_allocate_held(cache->state, 1u << index))) return NULL;
    char *object = cache->start + (size_t)index * cache->size;
    fill_check(object, 0, cache->size);
    return object;
}

/* Whether an object begins at the offset from the slab's start, and its number; `reciprocal`: that of the size. */
static ALWAYS_INLINE bool mid_object_at(uint32_t offset, uint32_t size, uint32_t reciprocal, uint32_t *index) {
    *index = (uint32_t)((uint64_t)offset * reciprocal >> 32);
    return *index * size == offset;
}

/* Finds the object in the held slab or, while there is room for it, in another slab of the class. False: it is in
 * neither, or the address is not where an object begins. */
static ALWAYS_INLINE bool mid_cache_find(const struct mid_cache *cache, const void *object, struct leaf_word leaf,
                                         struct mid_state **state, uint32_t *index) {
    uintptr_t distance = (uintptr_t)object - (uintptr_t)cache->start;
    *state = cache->state;
    if (distance >= cache->held_bytes) {
        if (QUARANTINED || UNLIKELY(cache->room == 0)) return false;
        granule_id slab = leaf_start(granule_of(object), leaf);
        if (!leaf_is_mid(leaf_get(slab), cache->class_plus_1 - 1)) return false;
        *state = mid_state_at(slab);
        distance = (uintptr_t)object - (uintptr_t)granule_address_fast(slab);
        if (UNLIKELY(distance >= cache->bytes)) return false; /* a tail's, or foreign */
    }
    return mid_object_at((uint32_t)distance, cache->size, cache->reciprocal, index);
}

/* The hit path of free: caches the object, or gives it back to the held slab. `object`: any address; `leaf`: its leaf
 * word. False, with nothing done: the cache has no room and does not hold the slab, or the address may not be that of
 * an object in use. */
static ALWAYS_INLINE bool mid_cache_free(struct mid_cache *caches, void *object, struct leaf_word leaf) {
    struct mid_cache *cache = &caches[mid_cache_of(leaf_class(leaf))];
    struct mid_state *state;
    uint32_t index;
    if (!mid_cache_find(cache, object, leaf, &state, &index) || UNLIKELY(mid_may_be_cached(object))) return false;
    uint32_t bit = 1u << index;
    if (!QUARANTINED && LIKELY(cache->room > 0)) {
        if (UNLIKELY(mid_has_free(mid_word_get(state), bit))) return false;
        cached_push(cache, object);
        return true;
    }
    if (JW_FILL && !mid_has_free(mid_word_get(state), bit)) fill_write(object, 0, cache->size);
    return LIKELY(mid_word_free_held(state, bit));
}

#endif
