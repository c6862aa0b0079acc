/* thrift_world.h - the tests of Thrift and of its thread: ranges of a small backend, over simulated time. The test runs
 * the reclamation thread, and says what happens while that waits. */
#ifndef JW_TESTS_THRIFT_WORLD_H
#define JW_TESTS_THRIFT_WORLD_H

#include "unit.h"

#include "backend/backend.h"
#include "backend/large_object.h"
#include "config/policy.h"

enum { BIG = 64 };

void __real_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);

static void (*at_wait)(unsigned number); /* what the world does while the reclamation thread waits */
static unsigned waits;

void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    waits++;
    CHECK(waits < 4000);
    if (at_wait) at_wait(waits);
    __real_platform_futex_wait(word, expected, milliseconds);
}

static granule_id before, one, keeper, a, b; /* keeper: stays in use, so that the root stays */

static granule_id fetch(uint32_t weight) {
    bool zeroed;
    granule_id range = granule_of(backend_fetch(FOR_SMALL_SLABS, weight, &zeroed));
    memset(granule_address(range), 0xa5, weight * GRANULE_SIZE);
    return range;
}

static inline bool is_dirty(granule_id range) {
    return *granule_address(range) == (char)0xa5;
}

static void start(void) {
    start_backend();
    options = default_options;
    options.reclaim_thread = THREAD_TRUE;
    memset(&thrift_counters, 0, sizeof thrift_counters);
    thrift_on_round(ROUND_SLABS, NULL);
    at_wait = NULL;
    waits = 0;
    before = fetch(1);
    one = fetch(1);
    keeper = fetch(1);
    a = fetch(BIG);
    b = fetch(BIG);
}

static void finish(void) {
    sim_fail_after(SIM_NEVER);
    backend_place(before);
    backend_place(one);
    backend_place(keeper);
    thrift_purge();
    assert_int_equal(ownership.cached[0], 0);
    assert_int_equal(ownership.cached[1], 0);
    assert_int_equal(root_count(), 0);
}

static inline void run_thread(void) {
    void (*body)(void) = sim_take_thread();
    assert_non_null(body);
    body();
}

/* As reclaimer_pause, whose wait only another thread could end. */
static inline void reclaimer_pause_begins(void) {
    atomic_fetch_add(&reclaimer->pauses, 1);
}

enum { PARTS = 8, PART = ROOT_GRANULES / PARTS };

/* A root in parts of which every second is free: 512 granules in use, and 512 cached that nothing larger can take. */
static inline void scatter(granule_id *parts) {
    start();
    backend_place(a);
    backend_place(b);
    finish();
    atomic_store(&thrift_counters.given_back, 0);
    atomic_store(&thrift_counters.sync_reclaims, 0);
    options.cache_min = 0;
    options.cache_percent = 25;
    for (unsigned i = 0; i < PARTS; i++) parts[i] = fetch(PART);
    assert_int_equal(root_count(), 1);
    watermark_note_peak();
    for (unsigned i = 0; i < PARTS; i += 2) backend_place(parts[i]);
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES / 2);
}

/* A root in use, while what is cached does not give way to it (thrift_make_headroom). */
static inline granule_id fetch_beside(void) {
    options.cache_min = (size_t)ROOT_SIZE * PART_BESIDE_NEW;
    granule_id root = fetch(ROOT_GRANULES);
    options.cache_min = 0;
    return root;
}

static inline void give_scattered_back(granule_id *parts) {
    for (unsigned i = 1; i < PARTS; i += 2)
        if (parts[i]) backend_place(parts[i]);
    thrift_purge();
    assert_int_equal(root_count(), 0);
}

#endif
