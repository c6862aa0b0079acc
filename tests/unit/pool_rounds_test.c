/* pool_rounds_test.c - what rounds do with the empty slabs that a thread keeps: two rounds give the pages back. */
#include "frontend/heap_pool.h"
#include "heap_players.h"

enum { COUNT = 6 * POOL_ROUND_FROM, PER_SLAB = GRANULE_SIZE / FRONTEND_MAX };

void __real_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
bool __real_platform_discard(void *start, size_t size);
bool __wrap_platform_discard(void *start, size_t size);

static char *objects[COUNT * PER_SLAB];
static unsigned waits, kept;     /* kept: slabs of the pool at the first wait */
static unsigned discards, calls; /* calls: those that gave the pool back */
static bool refused;

bool __wrap_platform_discard(void *start, size_t size) {
    discards++;
    return __real_platform_discard(start, size);
}

/* What the test looks at while the reclamation thread waits after its first round, and after its second. */
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    waits += milliseconds >= options.reclaim_interval; /* not a wait for the next thread */
    if (waits == 1) {
        kept = heaps[1]->pool.count;
        CHECK(kept >= POOL_ROUND_FROM && discards == 0);
    }
    if (waits == 2 && !calls) {
        calls = discards;
        CHECK(pool_is_empty(&heaps[1]->pool));
        CHECK(free_granules(MAPPED) == (refused ? kept : 0));
        sim_fail_after(SIM_NEVER);
    }
    __real_platform_futex_wait(word, expected, milliseconds);
}

/* A thread empties one of each `share` slabs, forwards or backwards, and sleeps. */
static void sleep_over_rounds(unsigned share, bool backwards) {
    start();
    options.pool_min = COUNT;
    waits = discards = calls = 0;
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) objects[i] = memset(allocate_as(1, FRONTEND_MAX), 1, FRONTEND_MAX);
    sim_take_thread();
    reclaimer_forget();
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned slab = backwards ? COUNT - 1 - i : i;
        if (slab % share) continue;
        for (unsigned j = slab * PER_SLAB; j < (slab + 1) * PER_SLAB; j++) {
            free_as(1, objects[j]);
            objects[j] = NULL;
        }
    }
    if (refused) {
        sim_fail_only(SIM_DISCARD);
        sim_fail_after(0);
    }
    void (*thread)(void) = sim_take_thread();
    assert_non_null(thread);
    thread();
    assert_true(waits >= 2);
    walk_all();
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++)
        if (objects[i]) free_as(1, objects[i]);
    finish();
}

static void two_rounds_give_a_sleeping_threads_pool_back(void **state) {
    (void)state;
    for (unsigned share = 1; share <= 2; share++) {
        sleep_over_rounds(share, false);
        sleep_over_rounds(share, true);
    }
}

/* One call of the OS gives many pages back where slabs that lie side by side were emptied in turn. */
static void slabs_side_by_side_go_back_together(void **state) {
    (void)state;
    sleep_over_rounds(1, false);
    assert_true(calls >= 1 && calls <= COUNT / 16);
    sleep_over_rounds(1, true);
    assert_true(calls >= 1 && calls <= COUNT / 16);
}

/* What a pool in use has counts for the wait of the next round, and more of it ends a long wait. */
static void pools_in_use_are_told_of(void **state) {
    (void)state;
    start();
    options.pool_min = COUNT;
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) objects[i] = allocate_as(1, FRONTEND_MAX);
    reclaimer_announce_wait(2 * PATIENT); /* four times as much as usual may wait */
    reclaimer_take_wakeup();
    unsigned woken_at[2] = {0}, woken = 0;
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) {
        free_as(1, objects[i]);
        if (reclaimer_take_wakeup() && woken < 2) woken_at[woken++] = heaps[1]->pool.count;
    }
    unsigned all = heaps[1]->pool.count;
    assert_int_equal(woken_at[0], 4 * POOL_ROUND_FROM);
    assert_true(all > 4 * POOL_ROUND_FROM);
    options.reclaim_start = (size_t)all << JW_GRANULE_SHIFT >> 3; /* eight times as much may be told of now */
    assert_true(thrift_may_hold(0));
    assert_true(heap_pool_round(heaps[1], false));
    assert_false(thrift_may_hold(0));
    reclaimer_announce_wait(0);
    finish();
}

/* They are free for the next request then, and later rounds try again. */
static void refused_pages_stay(void **state) {
    (void)state;
    refused = true;
    sleep_over_rounds(1, false);
    sleep_over_rounds(2, true);
    refused = false;
}

/* A heap with many slabs fetches untouched ones together. A round gives back those that it does not use. */
static void untouched_slabs_come_together(void **state) {
    (void)state;
    unsigned fetches = 0, most = 0;
    start();
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) {
        unsigned before = heaps[1]->pool.count;
        objects[i] = allocate_as(1, FRONTEND_MAX);
        unsigned now = heaps[1]->pool.count;
        fetches += now > before;
        if (now <= most) continue;
        most = now;
        walk_all();
        heap_pool_round(heaps[1], true);
        assert_true(pool_is_empty(&heaps[1]->pool));
    }
    assert_int_equal(most, FETCHED_MOST - 1);
    assert_true(fetches <= COUNT / 4);
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) free_as(1, objects[i]);
    finish();
}

/* So it does where the free memory has pages. */
static void mapped_slabs_come_together(void **state) {
    (void)state;
    unsigned fetched = 0;
    start();
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) objects[i] = allocate_as(1, FRONTEND_MAX);
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) free_as(1, objects[i]);
    heap_drain(heaps[1]);
    assert_true(free_granules(MAPPED) >= COUNT);
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) {
        unsigned before = heaps[1]->pool.count;
        objects[i] = allocate_as(1, FRONTEND_MAX);
        if (heaps[1]->pool.count > before) fetched += heaps[1]->pool.count - before;
    }
    assert_true(fetched >= COUNT / 2);
    walk_all();
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) free_as(1, objects[i]);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_rounds_give_a_sleeping_threads_pool_back),
        cmocka_unit_test(slabs_side_by_side_go_back_together),
        cmocka_unit_test(refused_pages_stay),
        cmocka_unit_test(pools_in_use_are_told_of),
        cmocka_unit_test(untouched_slabs_come_together),
        cmocka_unit_test(mapped_slabs_come_together),
    };
    CHECK(allocator_start());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
