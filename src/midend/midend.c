#include "midend/midend.h"

#include "backend/slab_source.h"
#include "base/assert.h"
#include "config/size_classes.h"
#include "platform/platform.h"
#include "sync/id_stack.h"

enum { MOST_OBJECTS = 28 };
enum { CLASSES = RANGE_CLASSES < 16 ? RANGE_CLASSES : 16 }; /* 16: of the leaf's bits; and the Nest has no more */

_Static_assert((unsigned)CLASSES - 1 <= LEAF_CLASS, "a class fits in a leaf's word");
_Static_assert((MID_FREE_BITS >> MOST_OBJECTS) == 0, "each object has a bit");

/* Classes are S(3) in units: the first is the first above the frontend whose objects are few enough. */
#define UNIT_SHIFT JW_MIDEND_UNIT_SHIFT

struct shape {
    uint32_t size, weight;  /* of an object, in bytes; of a slab, in granules */
    uint32_t reciprocal;    /* ceil(2^32 / size): division by the size, exact below 2^18 */
    uint16_t count, cached; /* objects of a slab; objects that may be cached in a cache */
};

static uint64_t cached_key; /* of cached objects' links */
static bool trim(void);
static bool purge(void);
static struct shape shapes[CLASSES];
uint8_t mid_class_index[BACKEND_MIN >> UNIT_SHIFT];
static unsigned class_count;
static struct nest nest;
static struct id_stack deferred; /* slabs whose Nest was busy, through their links */
static _Atomic(size_t) slab_counts[CLASSES];
static _Atomic(uint32_t) no_longer_full; /* slabs, since the start: a hint */
static struct mid_state no_slab;         /* has no bits, ever */

/* The smallest slab with enough objects whose tail is at most a sixteenth. */
static COLD bool shape_for(uint32_t size, struct shape *shape) {
    for (unsigned class = 1; class < RANGE_CLASSES; class ++) {
        uint32_t weight = weight_of_class(class), bytes = weight << JW_GRANULE_SHIFT, count = bytes / size;
        if (count > MOST_OBJECTS) return false;
        if (count < MID_LEAST_OBJECTS || (bytes - count * size) * MID_TAIL_PART > bytes) continue;
        shape->size = size;
        shape->weight = weight;
        shape->count = (uint16_t)count;
        shape->cached = JW_SECURE ? 0 : (uint16_t)(JW_MID_CACHE_OBJECTS / size);
        shape->reciprocal = (uint32_t)((((uint64_t)1 << 32) + size - 1) / size);
        return true;
    }
    return false;
}

static uint32_t units_of(size_t size) {
    return (uint32_t)((size + (1u << UNIT_SHIFT) - 1) >> UNIT_SHIFT);
}

COLD void midend_start(void) {
    cached_key = link_key_of(platform_random());
    unsigned class = class_of_weight(weight_round_up(units_of(FRONTEND_MAX)));
    while (!shape_for(weight_of_class(class) << UNIT_SHIFT, &shapes[0])) class ++;
    class_count = 0;
    for (; weight_of_class(class) << UNIT_SHIFT < BACKEND_MIN && class_count < CLASSES; class ++) {
        if (!shape_for(weight_of_class(class) << UNIT_SHIFT, &shapes[class_count])) break;
        class_count++;
    }
    class = 0;
    for (unsigned unit = 0; unit < BACKEND_MIN >> UNIT_SHIFT; unit++) {
        while (class < class_count && shapes[class].size <= unit << UNIT_SHIFT) class ++;
        mid_class_index[unit] = (uint8_t) class;
    }
    thrift_on_round(ROUND_SLABS, trim, purge);
}

/* The class of a size; class_count when the size is above all. */
static unsigned class_of(size_t size) {
    return mid_class_index[(size - 1) >> UNIT_SHIFT];
}

static unsigned class_for(size_t size, size_t alignment) {
    unsigned class = class_of(size);
    while (class < class_count && shapes[class].size & (alignment - 1)) class ++;
    return class;
}

static uint32_t all_free(unsigned class) {
    return MID_FREE_BITS >> (MOST_OBJECTS - shapes[class].count);
}

static unsigned class_of_slab(granule_id slab) {
    return leaf_class(leaf_get(slab));
}

/* The slab is out of the Nest and all its objects are free: nobody else can know it. */
static void retire(granule_id slab, unsigned class) {
    invariant(mid_is_empty(mid_word_get(mid_state_at(slab)), all_free(class)));
    for (uint32_t i = 1; i < shapes[class].weight; i++) leaf_set(slab + i, leaf_none());
    mid_word_set(mid_state_at(slab), mid_full());
    atomic_fetch_sub_explicit(&slab_counts[class], 1, memory_order_relaxed);
    slab_place(slab, shapes[class].weight);
}

/* Into the Nest, or onto the deferred list when that is busy (false). */
static bool place_or_defer(granule_id slab, unsigned class) {
    if (nest_place(&nest, class, slab)) return true;
    id_stack_push(&deferred, slab, range_set_next);
    return false;
}

/* A listed slab may have become empty. If another thread has it, that thread sees so after placing it. The slab may
 * also be gone, and its words another range's: but what nest_take_given gives is a listed slab of this class. */
static void retire_if_empty(granule_id slab, unsigned class) {
    /* [MF1] seq_cst: of who empties a slab and who places it, one sees what the other did; pairs [MF1]; client
     * midend_states */
    atomic_thread_fence(memory_order_seq_cst);
    if (!mid_is_empty(mid_word_get(mid_state_at(slab)), all_free(class))) return;
    if (!nest_has_many(&nest, class)) return; /* the class keeps one until the next round */
    if (!nest_take_given(&nest, class, slab, leaf_mid(class))) return;
    /* [MW1] acquire: the objects' last uses come before the range's next; pairs [MW3]; client midend_discard_last */
    struct mid_word word = mid_word_load(mid_state_at(slab), memory_order_acquire);
    if (mid_is_empty(word, all_free(class))) retire(slab, class);
    else if (place_or_defer(slab, class)) retire_if_empty(slab, class);
}

static NOINLINE void place(granule_id slab, unsigned class) {
    if (place_or_defer(slab, class)) retire_if_empty(slab, class);
}

static bool place_deferred(void) {
    granule_id slab = id_stack_take_all(&deferred);
    if (!slab) return false;
    for (granule_id next; slab; slab = next) {
        next = range_next(slab);
        place(slab, class_of_slab(slab));
    }
    return true;
}

/* Discards the whole pages among the free objects of a slab that is out of the Nest. False: the OS refuses. */
static bool discard_free(granule_id slab, const struct shape *shape, uint32_t free) {
    char *start = granule_address(slab);
    bool given = true;
    for (uint32_t run; free; free &= ~run) {
        uint32_t first = (uint32_t)__builtin_ctz(free), count = (uint32_t)__builtin_ctz(~(free >> first));
        if (JW_SECURE) count = 1; /* a free object's trailer stays: it has the tag that the next must not get */
        run = ((1u << count) - 1) << first;
        char *from = start + (size_t)first * shape->size;
        size_t size = (size_t)count * shape->size - SLOT_TAIL;
        given &= thrift_discard(from, size);
        fill_write(from, 0, size); /* checked builds: the pages come back with what free memory holds there */
    }
    return given;
}

/* A round's look at a slab that it took out of the Nest. True: a later round has to look again. */
static bool look_at_pages(granule_id slab, unsigned class, struct mid_word word, bool now) {
    bool discard = now || mid_is_seen(word);
    if (discard && !discard_free(slab, &shapes[class], mid_free_bits(word))) return true;
    /* relaxed: only rounds ask for these bits. Fails where an object was freed meanwhile */
    return !mid_word_change(mid_state_at(slab), &word, mid_looked_at(word, discard), memory_order_relaxed) || !discard;
}

/* A round's look at what was a slab when its leaf was read, and may be gone. True: as above. */
static bool look(granule_id slab, unsigned class, bool now) {
    struct mid_word word = mid_word_get(mid_state_at(slab));
    if (!mid_is_listed(word) || mid_is_held(word) || mid_is_given_back(word)) return false;
    if (!nest_take_given(&nest, class, slab, leaf_mid(class))) return true;
    /* [MW4] acquire: the objects' last uses come before their pages' discarding, or the range's next; pairs [MW3];
     * clients midend_trim midend_discard */
    word = mid_word_load(mid_state_at(slab), memory_order_acquire);
    if (mid_is_empty(word, all_free(class))) {
        retire(slab, class);
        return false;
    }
    bool more = !mid_is_given_back(word) && look_at_pages(slab, class, word, now);
    place(slab, class);
    return more;
}

struct round {
    bool now, more;
};

static void look_at_root(granule_id root, void *context) {
    struct round *round = context;
    for (granule_id id = root; id < root + ROOT_GRANULES; id++) {
        struct leaf_word leaf = leaf_get(id);
        if (leaf_kind(leaf) == MID) round->more |= look(id, leaf_class(leaf), round->now);
    }
}

bool midend_round(bool now) {
    struct round round = {.now = now};
    size_t slabs = 0;
    place_deferred();
    for (unsigned class = 0; class < class_count; class ++)
        slabs += atomic_load_explicit(&slab_counts[class], memory_order_relaxed);
    if (slabs > 0) page_map_walk(look_at_root, &round);
    return round.more;
}

static bool trim(void) {
    return midend_round(false);
}

static bool purge(void) {
    return midend_round(true);
}

static granule_id new_slab(unsigned class) {
    bool zeroed;
    void *start = slab_fetch(FOR_RANGES, shapes[class].weight, &zeroed);
    if (!start) return 0;
    granule_id slab = granule_of(start);
    for (uint32_t i = 1; i < shapes[class].weight; i++) leaf_set(slab + i, leaf_interior(class, i));
    leaf_set(slab, leaf_mid(class));
    fill_write(start, 0, (size_t)shapes[class].count * shapes[class].size);
    mid_word_set(mid_state_at(slab), mid_empty(all_free(class)));
    atomic_fetch_add_explicit(&slab_counts[class], 1, memory_order_relaxed);
    return slab;
}

static void open_cache(struct mid_cache *cache, unsigned class) {
    const struct shape *shape = &shapes[class];
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
 * again where there is no `hold` for it. */
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
    else if (mid_is_listed(rest)) place(slab, class);
    char *object = granule_address(slab) + (size_t)__builtin_ctz(bit) * shapes[class].size;
    fill_check(object, 0, shapes[class].size);
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
    if (mid_is_listed(rest)) place(slab, class);
}

/* A slab that was full. Should no range become free meanwhile, a round comes for the pages of many all the same. */
static void place_first(granule_id slab, unsigned class) {
    place(slab, class);
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
    const struct shape *shape = &shapes[*class];
    uintptr_t distance = (uintptr_t)object - (uintptr_t)granule_address(slab);
    if (distance >= (uintptr_t)shape->count * shape->size) return 0; /* the tail, or a foreign address */
    uint32_t offset = (uint32_t)distance, index = (uint32_t)((uint64_t)offset * shape->reciprocal >> 32);
    if (index * shape->size != offset) return 0;
    *bit = 1u << index;
    return slab;
}

static NOINLINE granule_id slab_of(const void *object, unsigned *class, uint32_t *bit) {
    return find_object(object, class, bit);
}

bool mid_has_link(const void *object, unsigned class) {
    return cached_may_lead((*(const link_word *)object ^ cached_key) ^ (uintptr_t)object, class + 1);
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
    if (!mid_has_free(word, bit)) fill_write(object, 0, shapes[class].size);
    do {
        if (mid_has_free(word, bit)) misuse(DOUBLE_FREE, object, 0);
        now = mid_freed(word, bit);
        /* [MW3] release: the object's last use; acquire: the slab's words, from who filled it; pairs [MW1] [MW2]
         * [MW4] [MH1]; clients midend_free_allocate midend_full_words */
    } while (!mid_word_change_weak(mid_state_at(slab), &word, now, memory_order_acq_rel));
    if (!mid_is_listed(word)) place_first(slab, class);
    else if (mid_is_empty(now, all_free(class))) retire_if_empty(slab, class);
    if (caches) count_miss(&caches[class % MID_CACHES], class);
    return true;
}

static granule_id find_slab(unsigned class) {
    granule_id slab = nest_take(&nest, class);
    if (!slab && place_deferred()) slab = nest_take(&nest, class);
    return slab ? slab : new_slab(class);
}

/* `hold`: where the slab is to be held, NULL: nowhere. */
static void *allocate_anew(struct mid_cache *cache, unsigned class) {
    granule_id slab = find_slab(class);
    return slab ? claim(slab, class, cache) : NULL;
}

static void *refill(struct mid_cache *cache, unsigned class) {
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
    unsigned class = class_of(size);
    return LIKELY(class < class_count) ? refill(&caches[class % MID_CACHES], class) : NULL;
}

void *midend_allocate(struct mid_cache *caches, size_t size, size_t alignment) {
    unsigned class = class_for(size, alignment);
    if (class >= class_count) return NULL;
    if (!caches) return allocate_anew(NULL, class);
    struct mid_cache *cache = &caches[class % MID_CACHES];
    void *object = mid_cache_take(cache, class);
    return object ? object : refill(cache, class);
}

size_t midend_usable_size(const struct mid_cache *caches, const void *object) {
    unsigned class = 0;
    uint32_t bit = 0;
    granule_id slab = slab_of(object, &class, &bit);
    if (!slab || mid_has_free(mid_word_get(mid_state_at(slab)), bit)) return 0;
    return UNLIKELY(mid_may_be_cached(object)) && mid_is_cached(caches, object) ? 0 : shapes[class].size;
}

COLD void midend_find(const void *object, struct found *found) {
    unsigned class = 0;
    uint32_t bit = 0;
    granule_id slab = slab_of(object, &class, &bit);
    granule_id id = granule_of(object), start = granule_start(id);
    if (!slab) class = class_of_slab(start);
    const struct shape *shape = &shapes[class];
    uint32_t offset = (id - start) << JW_GRANULE_SHIFT | ((uint32_t)(uintptr_t)object & (GRANULE_SIZE - 1));
    found->tier = TIER_MID;
    found->size = shape->size;
    if (!slab) found->state = offset < shape->count * shape->size ? FOUND_INSIDE : FOUND_BETWEEN;
    else if (mid_has_free(mid_word_get(mid_state_at(slab)), bit)) found->state = FOUND_FREE;
    else found->state = mid_may_be_cached(object) && mid_has_link(object, class) ? FOUND_FREE : FOUND_IN_USE;
}

size_t midend_good_size(size_t size, size_t alignment) {
    unsigned class = class_for(size, alignment);
    return class < class_count ? shapes[class].size : backend_good_size(size);
}

static _Thread_local uint64_t lists_locked __attribute__((tls_model("initial-exec"))); /* by this thread's fork */

COLD void midend_before_fork(void) {
    lists_locked = nest_lock_all(&nest);
}

COLD void midend_after_fork(bool child) {
    nest_unlock_all(&nest, child ? ~(uint64_t)0 : lists_locked);
}

static COLD void count_free(granule_id root, void *context) {
    struct midend_statistics *statistics = context;
    for (granule_id id = root; id < root + ROOT_GRANULES; id++) {
        if (leaf_kind(leaf_get(id)) != MID) continue;
        unsigned class = class_of_slab(id);
        uint32_t free = mid_free_bits(mid_word_get(mid_state_at(id)));
        statistics->classes[class].objects -= (unsigned)__builtin_popcount(free);
    }
}

COLD void midend_statistics(const struct mid_cache *caches, struct midend_statistics *statistics) {
    *statistics = (struct midend_statistics){.class_count = class_count};
    for (unsigned class = 0; class < class_count; class ++) {
        uint64_t slabs = atomic_load_explicit(&slab_counts[class], memory_order_relaxed),
                 capacity = slabs * shapes[class].count;
        statistics->classes[class].size = shapes[class].size;
        statistics->classes[class].slabs = slabs;
        statistics->classes[class].capacity = statistics->classes[class].objects = capacity;
        statistics->reserved += slabs * shapes[class].weight << JW_GRANULE_SHIFT;
    }
    page_map_walk(count_free, statistics);
    for (unsigned i = 0; i < MID_CACHES; i++)
        for (const void *object = caches[i].cached; object; object = cached_next(&caches[i], object))
            statistics->classes[caches[i].kind - 1].objects--;
    for (unsigned class = 0; class < class_count; class ++)
        statistics->in_use += statistics->classes[class].objects * shapes[class].size;
}
