/* midend_cached.h - what the tests of cached objects of the midend share. */
#ifndef JW_TESTS_MIDEND_CACHED_H
#define JW_TESTS_MIDEND_CACHED_H

#include "midend_unit.h"

enum { MANY = 64 };

static inline struct mid_cache *cache_of(unsigned class) {
    return &caches[mid_cache_of(class)];
}

static inline unsigned cached_in(const struct mid_cache *cache) {
    unsigned count = 0;
    for (const void *object = cache->cached; object; object = cached_next(cache, object)) count++;
    return count;
}

static inline uint32_t bit_of(const void *object) {
    unsigned class;
    uint32_t bit = 0;
    CHECK(mid_slab_of(object, &class, &bit));
    return bit;
}

static inline uint32_t word_around(const void *object) {
    unsigned class;
    uint32_t bit;
    return word(mid_slab_of(object, &class, &bit));
}

static inline bool is_set(const void *object) {
    return word_around(object) & bit_of(object);
}

/* Objects of several slabs, none of which the cache is left with. */
static inline void allocate_many(char *objects[MANY], unsigned class) {
    for (unsigned i = 0; i < MANY; i++) {
        objects[i] = allocate_held(mid_shapes[class].size);
        pattern_fill(objects[i], mid_shapes[class].size, i);
    }
}

/* The i-th of a few that leave no slab empty. */
static inline unsigned some(unsigned i) {
    return i * 5 % MANY;
}

static inline void free_many(char *objects[MANY]) {
    for (unsigned i = 0; i < MANY; i++)
        if (objects[i]) midend_free(NULL, objects[i]);
}

#endif
