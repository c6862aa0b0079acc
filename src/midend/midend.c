/* midend.c - allocation and free of mid objects, and what gives a thread's cached ones back to their slabs. */
#include "midend/midend.h"

#include "backend/reserve.h"
#include "midend/mid_slab.h"
#include "platform/host.h"
#include "platform/platform.h"

COLD void midend_start(void) {
    mid_cache_renew_key(platform_random());
    mid_shapes_start();
    midend_round_start();
}

static unsigned class_for(size_t size, size_t alignment) {
    unsigned mid_class = mid_class_of(size);
    while (mid_class < mid_class_count && mid_shapes[mid_class].size & (alignment - 1)) mid_class++;
    return mid_class;
}

/* Allocates an object of a slab that this thread took out of the Nest. Unless the slab is full now, it is held, or
 * placed again if there is no `cache` for it. */
static void *allocate_from_slab(granule_id slab, unsigned class, struct mid_cache *cache) {
    struct mid_word now;
    uint32_t index = mid_word_allocate(mid_state_at(slab), cache != NULL, &now);
    if (mid_is_held(now)) mid_cache_hold(cache, slab);
    else if (mid_is_listed(now)) mid_slab_place(slab, class);
    char *object = mid_object(slab, class, index);
    fill_check(object, 0, mid_shapes[class].size);
    return object;
}

granule_id mid_slab_of(const void *object, unsigned *class, uint32_t *bit) {
    granule_id slab = granule_start(granule_of(object));
    struct leaf_word first = leaf_get(slab);
    if (leaf_kind(first) != MID) return 0;
    *class = leaf_class(first);
    const struct mid_shape *shape = &mid_shapes[*class];
    uintptr_t distance = (uintptr_t)object - (uintptr_t)granule_address(slab);
    if (distance >= (uintptr_t)shape->count * shape->size) return 0; /* the tail, or a foreign address */
    uint32_t index;
    if (!mid_object_at((uint32_t)distance, shape->size, shape->reciprocal, &index)) return 0;
    *bit = 1u << index;
    return slab;
}

/* Gives the cached objects back to their slabs. No object is cached then until the class is allocated from. */
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

static void mid_cache_drain(struct mid_cache *cache) {
    if (cache->cached) drain_cached(cache);
    cache->room = 0;
    if (cache->held_bytes) mid_cache_leave(cache);
}

static void mid_cache_count_miss(struct mid_cache *cache, unsigned class) {
    if (cache->class_plus_1 == class + 1 && cache->cached && mid_cache_misses(cache)) drain_cached(cache);
}

wide_bool midend_free(struct mid_cache *caches, void *object) {
    unsigned class = 0;
    uint32_t bit = 0;
    granule_id slab = mid_slab_of(object, &class, &bit);
    if (!slab) misuse(INVALID_FREE, object, 0);
    struct mid_word word = mid_word_get(mid_state_at(slab));
    if (!mid_has_free(word, bit) && UNLIKELY(mid_may_be_cached(object)) && mid_has_link(object, class)) return false;
    if (!mid_has_free(word, bit)) fill_write(object, 0, mid_shapes[class].size);
    mid_slab_free(slab, class, bit);
    if (caches) mid_cache_count_miss(&caches[mid_cache_of(class)], class);
    return true;
}

void midend_drain_caches(struct mid_cache *caches, bool idle) {
    for (struct mid_cache *cache = caches; cache < caches + MID_CACHES; cache++) {
        if (!mid_cache_idles(cache) && idle) continue;
        mid_cache_drain(cache);
        mid_cache_count_next_hold(cache);
    }
}

/* Allocates an object of a slab from the Nest, or of a new slab. `cache`: the cache that will hold the slab, NULL:
 * none. */
static void *allocate_from_another_slab(struct mid_cache *cache, unsigned class) {
    granule_id slab = mid_slab_take_or_make(class);
    return slab ? allocate_from_slab(slab, class, cache) : NULL;
}

static void *mid_cache_refill(struct mid_cache *cache, unsigned class) {
    if (UNLIKELY(reserve_is_mine())) return NULL; /* all threads share the slabs: the object becomes a large one */
    if (LIKELY(cache->class_plus_1 == class + 1)) {
        mid_cache_renew_misses(cache); /* the cache may have been drained since the thread has looked at it */
        if (cache->held_bytes) mid_cache_leave(cache);
        cache->room = cache->most;
    } else {
        mid_cache_drain(cache);
        mid_cache_open(cache, class);
    }
    return allocate_from_another_slab(cache, class);
}

void *midend_allocate_uncached(struct mid_cache *caches, size_t size) {
    unsigned class = mid_class_of(size);
    return LIKELY(class < mid_class_count) ? mid_cache_refill(&caches[mid_cache_of(class)], class) : NULL;
}

void *midend_allocate(struct mid_cache *caches, size_t size, size_t alignment) {
    unsigned class = class_for(size, alignment);
    if (class >= mid_class_count) return NULL;
    return caches ? mid_cache_refill(&caches[mid_cache_of(class)], class) : allocate_from_another_slab(NULL, class);
}

size_t midend_usable_size(const struct mid_cache *caches, const void *object) {
    unsigned class = 0;
    uint32_t bit = 0;
    granule_id slab = mid_slab_of(object, &class, &bit);
    if (!slab || mid_has_free(mid_word_get(mid_state_at(slab)), bit)) return 0;
    /* with an empty cache, no look at the object: a read would cost one that was never written a page fault more */
    bool looks = caches[mid_cache_of(class)].cached && mid_may_be_cached(object);
    return UNLIKELY(looks) && mid_is_cached(caches, object) ? 0 : mid_shapes[class].size;
}

size_t midend_good_size(size_t size, size_t alignment) {
    unsigned class = class_for(size, alignment);
    return class < mid_class_count ? mid_shapes[class].size : 0;
}

OF_FORKING_THREAD uint64_t mid_lists_locked;

COLD void midend_before_fork(void) {
    mid_lists_locked = nest_lock_all(&mid_nest);
}

COLD void midend_after_fork(bool child) {
    nest_unlock_all(&mid_nest, child ? ~(uint64_t)0 : mid_lists_locked);
}
