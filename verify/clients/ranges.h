/* ranges.h - ranges of the backend for its clients: written as a whole when taken, and all given back in the end. */
#ifndef JW_RANGES_H
#define JW_RANGES_H

#include "backend/backend.h"
#include "backend/large_object.h"
#include "backend/root.h"
#include "config/options.h"
#include "platform/platform.h"
#include "verify/clients/client.h"
#include "verify/clients/rest.h"
#include "verify/platform/model.h"

/* Slots with a root, spare ones too. */
static inline size_t claimed_slots(void) {
    size_t count = 0;
    for (uint32_t slot = 0; page_map_next(&slot, false);) count++;
    return count;
}

static inline void begin(void) {
    model_reservations_left = -1;
    thrift_start();
    bool started = page_map_start();
    assert(started);
}

/* The range is ours: a word of each granule says so, until release finds them unchanged. */
static inline granule_id own(granule_id range) {
    for (granule_id i = 0, weight = range ? knit_weight(range) : 0; i < weight; i++)
        *(uint64_t *)granule_address(range + i) = range;
    return range;
}

static inline granule_id disown(granule_id range) {
    for (granule_id i = 0, weight = knit_weight(range); i < weight; i++)
        assert(*(uint64_t *)granule_address(range + i) == range);
    return range;
}

static inline granule_id fetch_for(enum root_use use, uint32_t weight) {
    bool zeroed;
    void *memory = backend_fetch(use, weight, &zeroed);
    assert(memory);
    for (granule_id i = 0; zeroed && i < weight; i++) assert(*(uint64_t *)((char *)memory + i * GRANULE_SIZE) == 0);
    return own(granule_of(memory));
}

static inline granule_id fetch(uint32_t weight) {
    return fetch_for(FOR_SMALL_SLABS, weight);
}

/* Frees a range in that state, or as the backend does it. */
static inline void place(granule_id range, enum slot_code state) {
    disown(range);
    leaf_set(range, leaf_held());
    if (state == UNMAPPED) platform_discard(granule_address(range), knit_weight(range) * GRANULE_SIZE);
    range_place(range, state);
}

static inline void give(granule_id range) {
    backend_place(disown(range));
}

static inline granule_id acquire_any(enum slot_code state) {
    granule_id range = range_acquire(FOR_SMALL_SLABS, state, 1);
    return range ? range : range_acquire(FOR_OTHER_RANGES, state, 1);
}

static inline void join_all_unmapped(void) {
    granule_id ranges[32], range;
    unsigned count = 0;
    while ((range = acquire_any(UNMAPPED))) ranges[count++] = range;
    while (count > 0) range_place(ranges[--count], UNMAPPED);
}

/* After the threads: each granule is free, and once; then all join, and every root goes back to the OS, spare ones at
 * last. What is placed again before its neighbour has been acquired is deferred once more. */
static inline void end(void) {
    for (int rounds = 0; range_place_deferred(); rounds++) assert(rounds < 3);
    for (granule_id range; (range = acquire_any(MAPPED));) range_place(range, UNMAPPED);
    join_all_unmapped();
    for (unsigned nest = 0; nest < nests_in_use(); nest++)
        for (unsigned class = 0; class < RANGE_CLASSES; class ++)
            assert(nest_count(&ownership.nests[nest], class) == 0);
    expect_exact_counts();
    assert(free_granules(MAPPED) == 0 && free_granules(UNMAPPED) == 0);
    root_unmap_spares();
    assert(root_count() == 0 && claimed_slots() == 0 && model_reserved_roots() == 0);
}

#endif
