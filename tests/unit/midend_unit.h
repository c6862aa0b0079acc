/* midend_unit.h - a fresh midend over a fresh backend, from the inside. */
#ifndef JW_TESTS_MIDEND_UNIT_H
#define JW_TESTS_MIDEND_UNIT_H

#include "unit.h"

#include "midend/mid_slab.h"
#include "midend/midend.h"

static struct mid_cache caches[MID_CACHES];

static void start(void) {
    start_backend();
    memset(caches, 0, sizeof caches);
    options = default_options;
    options.reclaim_thread = THREAD_TRUE;
    midend_start();
}

/* All objects are free, so nothing of the midend is left to the next test. */
static inline void finish(void) {
    thrift_purge();
    assert_false(mid_slab_place_deferred());
    for (unsigned class = 0; class < mid_class_count; class ++)
        assert_true(mid_slab_counts[class] == 0 && nest_count(&mid_nest, class) == 0);
    assert_int_equal(root_count(), 0);
    assert_int_equal(ownership.cached[0], 0);
    assert_int_equal(ownership.cached[1], 0);
}

static inline uint32_t word(granule_id slab) {
    return mid_word_get(mid_state_at(slab)).raw;
}

/* As malloc and free do it for a thread that has a heap. */
static inline void *allocate_held_by(struct mid_cache *holder, size_t size) {
    void *object = midend_allocate_cached(holder, size);
    return object ? object : midend_allocate_uncached(holder, size);
}

static inline void *allocate_held(size_t size) {
    return allocate_held_by(caches, size);
}

__attribute__((unused)) static NOINLINE bool takes(void *object, struct leaf_word leaf) {
    return mid_cache_free(caches, object, leaf);
}

static inline void free_held(void *object) {
    if (!takes(object, leaf_of(object))) midend_free(caches, object);
}

/* What is freed next is not cached. */
static inline void leave_no_room(void) {
    for (unsigned i = 0; i < MID_CACHES; i++) caches[i].room = 0;
}

/* All objects of a new slab, in the order of their addresses. */
static inline granule_id fill_slab(char *objects[MOST_OBJECTS], unsigned class) {
    for (unsigned i = 0; i < mid_shapes[class].count; i++) {
        objects[i] = midend_allocate(NULL, mid_shapes[class].size, 1);
        pattern_fill(objects[i], mid_shapes[class].size, i);
    }
    CHECK(granule_of(objects[mid_shapes[class].count - 1]) != 0 && objects[1] == objects[0] + mid_shapes[class].size);
    return granule_of(objects[0]);
}

#endif
