/* midend_slabs.h - objects of the midend, for its clients: slabs of two granules with four objects each. */
#ifndef JW_MIDEND_SLABS_H
#define JW_MIDEND_SLABS_H

#include "backend/backend.h"
#include "backend/large_object.h"
#include "core/allocator.h"
#include "midend/midend.h"
#include "verify/clients/client.h"
#include "verify/platform/model.h"

enum { SIZE = 128, OBJECTS = 4 };

static inline void begin(void) {
    model_reservations_left = -1;
    bool started = allocator_start();
    assert(started);
}

static inline void *take(uint64_t value) {
    void *object = midend_allocate(NULL, SIZE, 1);
    assert(object);
    fill(object, SIZE, value);
    return object;
}

static inline void give(void *object, uint64_t value) {
    expect(object, SIZE, value);
    midend_free(NULL, object);
}

/* The same by a thread that holds slabs. */
static inline void *take_held(struct mid_cache *caches, uint64_t value) {
    void *object = midend_allocate_cached(caches, SIZE);
    if (!object) object = midend_allocate_uncached(caches, SIZE);
    assert(object);
    fill(object, SIZE, value);
    return object;
}

static inline void give_held(struct mid_cache *caches, void *object, uint64_t value) {
    expect(object, SIZE, value);
    if (!mid_cache_free(caches, object, leaf_of(object))) midend_free(caches, object);
}

/* The rest of the root that the only slab is in: nothing else is left to allocate from. */
static inline void *take_rest(void) {
    bool zeroed;
    void *rest = large_allocate(6 * GRANULE_SIZE, 1, &zeroed);
    assert(rest);
    model_reservations_left = 0;
    return rest;
}

static inline void take_slab(void *objects[OBJECTS], uint64_t value) {
    for (unsigned i = 0; i < OBJECTS; i++) objects[i] = take(value);
}

static inline bool is_slab(granule_id range) {
    return leaf_kind(leaf_get(range)) == MID;
}

static inline unsigned slabs(void) {
    unsigned count = 0;
    for (granule_id id = 1; id <= page_map.mask; id++) count += is_slab(id);
    return count;
}

/* When all objects are free: every slab is given back, its neighbours join, and the root goes. */
static inline void expect_nothing_left(void) {
    thrift_purge();
    assert(slabs() == 0 && model_reserved_roots() == 0);
}

#endif
