/* midend_round.c - reclamation's rounds over the midend. Empty slabs go back, and so do the pages of free objects that
 * were left alone since the last round (midend.h has the states). */
#include "backend/root.h"
#include "backend/timed_purge.h"
#include "midend/mid_slab.h"
#include "midend/midend.h"

/* Discards the whole pages among the free objects of a slab that is out of the Nest. False: the OS refuses. */
static wide_bool give_back_free(granule_id slab, const struct mid_shape *shape, uint32_t free) {
    char *start = granule_address(slab);
    bool given = true;
    for (uint32_t run; free; free &= ~run) {
        uint32_t first = (uint32_t)__builtin_ctz(free), count = (uint32_t)__builtin_ctz(~(free >> first));
        if (TRAILERS) count = 1; /* a free object's trailer stays: its tag is one that the next object must not get */
        run = ((1u << count) - 1) << first;
        char *from = start + (size_t)first * shape->size;
        size_t size = (size_t)count * shape->size - SLOT_TAIL;
        given &= give_back_pages(from, size);
        fill_write(from, 0, size); /* checked builds: the discard has removed the pattern of free memory */
    }
    return given;
}

/* A round's look at a slab that it took out of the Nest. True: a later round has to look again. */
static bool give_back_or_mark(granule_id slab, unsigned class, struct mid_word word, bool now) {
    bool discard = now || mid_is_seen(word);
    if (discard && !give_back_free(slab, &mid_shapes[class], mid_free_bits(word))) return true;
    return !mid_word_mark(mid_state_at(slab), word, discard) || !discard;
}

/* A round's look at what was a slab when its leaf was read. The slab may be gone. True: a later round has to look
 * again. */
static bool scan_slab(granule_id slab, unsigned class, bool now) {
    struct mid_word word = mid_word_get(mid_state_at(slab));
    if (!mid_is_listed(word) || mid_is_held(word) || mid_is_given_back(word)) return false;
    if (!nest_take_this(&mid_nest, class, slab, leaf_mid(class))) return true;
    word = mid_word_get_taken(mid_state_at(slab));
    if (mid_is_empty(word, mid_all_free(class))) {
        mid_slab_retire(slab, class);
        return false;
    }
    bool more = !mid_is_given_back(word) && give_back_or_mark(slab, class, word, now);
    mid_slab_place(slab, class);
    return more;
}

/* Gives back the pages of what is free in a slab that a thread holds. Meanwhile the round has the objects: it allocates
 * all, and frees them again. Returns the slab's word after that, or mid_full(): the OS refuses, or there is
 * nothing. */
static struct mid_word give_back_held(struct mid_hold *hold) {
    granule_id slab = mid_hold_enter(hold);
    if (!slab) return mid_full();
    uint32_t objects = mid_word_allocate_all(mid_state_at(slab));
    if (!mid_hold_exit(hold, slab)) mid_slab_leave(slab);
    if (!objects) return mid_full();
    unsigned class = mid_class_of_slab(slab);
    bool given = give_back_free(slab, &mid_shapes[class], objects);
    struct mid_word word = mid_slab_free(slab, class, objects);
    return given ? word : mid_full();
}

/* A round's look at a slab that a thread holds. True: the next round has to look again. What the OS refuses, a round
 * that comes for another reason tries again. */
static bool scan_hold(struct mid_cache *cache, bool now) {
    granule_id slab = mid_hold_look(&cache->hold);
    if (!slab) return false;
    bool sleeps = mid_cache_sleeps(cache);
    struct mid_word word = mid_word_get(mid_state_at(slab)), left = sleeps ? mid_word_get(&cache->left) : mid_full();
    bool has_pages = mid_free_bits(word) && !mid_same(word, left);
    if (has_pages && (sleeps || now)) left = give_back_held(&cache->hold);
    mid_word_note(&cache->left, left);
    return has_pages && !sleeps && !now;
}

unsigned midend_round_of_caches(struct mid_cache *caches, bool now) {
    unsigned more = 0;
    for (struct mid_cache *cache = caches; cache < caches + MID_CACHES; cache++) more += scan_hold(cache, now);
    return more;
}

struct round {
    wide_bool now;
    uint32_t more; /* slabs that the next round has to look at again */
};

static void scan_root(granule_id root, void *context) {
    struct round *round = context;
    if (!root_has_mid_slabs(root)) return;
    for (granule_id id = root, step; id < root + ROOT_GRANULES; id += step) {
        struct leaf_word leaf = leaf_get_fast(id);
        step = granules_to_next(id, leaf);
        if (leaf_kind(leaf) != MID) continue;
        step = mid_shapes[leaf_class(leaf)].weight;
        round->more += scan_slab(id, leaf_class(leaf), round->now);
    }
}

wide_bool midend_round(wide_bool now) {
    struct round round = {.now = now};
    size_t slabs = 0;
    mid_slab_place_deferred();
    for (unsigned mid_class = 0; mid_class < mid_class_count; mid_class++)
        slabs += atomic_load_explicit(&mid_slab_counts[mid_class], memory_order_relaxed);
    if (slabs > 0) page_map_walk(scan_root, &round);
    thrift_may_hold((size_t)round.more * MID_LEAST_OBJECTS);
    return round.more > 0;
}

bool midend_purge(struct purge *purge) {
    struct round round = {.now = true};
    mid_slab_place_deferred();
    return purge_walk(purge, scan_root, &round);
}

void midend_round_start(void) {
    thrift_on_round(ROUND_SLABS, midend_round);
}
