/* transcript_state.h - sums of the state that later calls and other threads read. A transcript of sums has one of all
 * words after each step, and one of a few words within each call of the platform: there the order of two steps shows.
 * Keys do not count, and addresses count from the place of the transcript's first mapping. */
#ifndef JW_TESTS_TRANSCRIPT_STATE_H
#define JW_TESTS_TRANSCRIPT_STATE_H

#include "backend/directory.h"
#include "backend/limits.h"
#include "backend/mapping_cache.h"
#include "backend/ownership.h"
#include "backend/thrift_counters.h"
#include "core/realloc.h"
#include "frontend/heap_table.h"
#include "midend/mid_slab.h"

static uint64_t state_sum;
static uintptr_t state_base;

static void add_word(uint64_t word) {
    state_sum = (state_sum ^ word) * 0x9E3779B97F4A7C15u;
    state_sum ^= state_sum >> 32;
}

static void add_words(const void *start, size_t size) {
    for (size_t i = 0; i < size / sizeof(uint32_t); i++) add_word(((const uint32_t *)start)[i]);
}

static void add_place(const void *address) {
    add_word(address ? (uintptr_t)address - state_base : 1);
}

static void add_slab(const struct slab *slab) {
    add_word(cross_get(&slab->cross).raw);
    add_word((uint64_t)slab->class << 8 | (uint64_t)slab_state(slab));
    add_word((uint64_t)slab->linked << 1 | slab->marked);
    add_place((const void *)(slab->origin + 1));
    add_word(slab->reciprocal);
    add_word(slab->last);
    add_word(slab->freed.budget);
    add_word((uint64_t)slab_id_get(&slab->freed.next) << 32 | slab_id_get(&slab->freed.previous));
    add_word(slab->target == &slab->freed);
    add_place(link_is_end(slab->freed.first) ? NULL : slab->freed.first);
}

static void add_granule(granule_id id) {
    add_word((uint64_t)leaf_get(id).raw << 32 | range_link_get(id).raw);
    struct node_word node = atomic_load(node_at(id));
    add_word(node.raw);
    if (leaf_is_slab(leaf_get(id))) add_slab(record_at(id));
}

static void add_root(granule_id root, void *unused) {
    (void)unused;
    for (granule_id i = 0; i < ROOT_GRANULES; i++) add_granule(root + i);
}

static void add_cache(const struct mid_cache *cache) {
    add_place(cache->start);
    add_place(cache->cached);
    add_words(&cache->held_bytes, offsetof(struct mid_cache, misses_left) - offsetof(struct mid_cache, held_bytes));
    add_word(cache->misses_left);
    add_word(mid_hold_look(&cache->hold));
}

static void add_heap(const struct heap *heap) {
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        add_place(link_is_end(heap->local[i].first) ? NULL : heap->local[i].first);
        add_word(heap->local[i].budget);
        add_place(heap->current[i]);
        add_place(heap->partial[i]);
    }
    add_words(&heap->reopened, sizeof heap->reopened);
    add_word(heap->suspect_count);
    add_word(heap->abandoned_next);
    add_word((uint64_t)heap->has_map << 2 | heap->calls_back << 1 | heap->thread_is_counted);
    add_words(&heap->pool, sizeof heap->pool);
    add_word(heap->cache_states);
    add_words(&heap->maintenance_ticks, 3 * sizeof(uint32_t));
    add_word(heap->shortage.ticks);
    for (unsigned i = 0; i < MID_CACHES; i++) add_cache(&heap->mid_caches[i]);
    add_words(&heap->range_cache, sizeof heap->range_cache);
}

static void add_counters(void) {
    add_words(&thrift_counters, sizeof thrift_counters);
    add_words(reclaimer, sizeof *reclaimer);
    add_words(ownership.cached, sizeof ownership.cached);
    add_word(ownership_active());
    add_word(atomic_load(&pressure_limit));
    add_word(mapping_cache_bytes());
}

/* Within a call of the platform for the address. */
static void look_from_inside(const void *address) {
    add_counters();
    for (uint32_t number = 1; number <= heap_count(); number++) {
        const struct heap *heap = heap_by_number(number);
        add_word((uint64_t)heap->in_use_count << 32 | heap->pool.count);
        add_word((uint64_t)heap->range_cache.room << 32 | (uint32_t)heap->range_cache.drained);
    }
    if (address && page_map_owns(address)) add_granule(granule_of(address));
    else add_word(directory_get(address));
}

static void look_at_all(void) {
    add_counters();
    add_words(&ownership, sizeof ownership);
    add_words(&mid_nest, sizeof mid_nest);
    add_words(mid_slab_counts, sizeof mid_slab_counts);
    add_word((uint64_t)shrunk_in_place << 1 | shrunk_without_memory);
    page_map_walk(add_root, NULL);
    for (uint32_t number = 1; number <= heap_count(); number++) add_heap(heap_by_number(number));
}

#endif
