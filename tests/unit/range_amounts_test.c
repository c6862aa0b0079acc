/* range_amounts_test.c - a range cache in numbers: how much it may have, when it asks for a round, what two drains make
 * of it (backend/range_cache.h). */
#include "thrift_world.h"

#include "backend/range_cache.h"
#include "backend/watermark.h"
#include "config/policy.h"

static struct range_cache cache;

/* Watermark: cache_min. */
static void start_cache(size_t granules) {
    start();
    options.cache_min = granules * GRANULE_SIZE;
    options.cache_percent = 0;
    options.reclaim_start = ROOT_SIZE;
    range_cache_mine = NULL;
    range_cache_after_fork();
    memset(&cache, 0, sizeof cache);
    range_cache_enter(&cache);
    reclaimer_take_request();
}

static void push(uint32_t weight) {
    granule_id range = fetch(weight);
    leaf_set(range, leaf_held());
    range_cache_push(&cache, range, weight);
}

static void end_cache(void) {
    range_cache_shrink(&cache, 1, 0);
    range_cache_enter(NULL);
    reclaimer_announce_wait(0);
    backend_place(a);
    backend_place(b);
    finish();
}

static void a_share_is_a_root_at_most(void **state) {
    (void)state;
    for (size_t most = RANGE_CACHE_MOST - 1; most <= RANGE_CACHE_MOST + 1; most++) {
        start_cache(most);
        push(3);
        int32_t share = (int32_t)(most < RANGE_CACHE_MOST ? most : RANGE_CACHE_MOST);
        assert_int_equal(cache.most, share);
        assert_int_equal(cache.room, share - 3);
        assert_int_equal(cache.quiet_room, share - (int32_t)ROOT_GRANULES);
        assert_int_equal(cache.filled, 1u << class_of_weight(3));
        assert_int_equal(range_cache_granules(&cache), 3);
        end_cache();
    }
}

/* Each thread with a cache has an equal one of what the watermark leaves. */
static void shares_are_equal(void **state) {
    (void)state;
    for (unsigned others = 0; others < 4; others++) {
        start_cache(BIG + 101);
        backend_place(a); /* waits already */
        for (unsigned i = 0; i < others; i++) {
            range_cache_mine = NULL;
            range_cache_enter(&cache);
        }
        push(2);                                             /* of what waits */
        int32_t share = (BIG + 101) / (int32_t)(others + 1); /* little enough waits */
        assert_int_equal(cache.most, share);
        assert_int_equal(cache.quiet_room, share - (int32_t)ROOT_GRANULES / (int32_t)(others + 1));
        range_cache_after_fork();
        a = fetch(BIG);
        end_cache();
    }
}

/* The other threads are its parent's. */
static void a_fork_s_child_has_all_of_it(void **state) {
    (void)state;
    start_cache(BIG + 101);
    backend_place(a);
    for (unsigned i = 0; i < 3; i++) {
        range_cache_mine = NULL;
        range_cache_enter(&cache);
    }
    backend_before_fork();
    backend_after_fork(true);
    push(2);
    assert_int_equal(cache.most, BIG + 101);
    a = fetch(BIG);
    end_cache();
}

static void what_has_no_room_goes_to_the_nest(void **state) {
    (void)state;
    start_cache(10);
    push(6);
    assert_true(cache.most == 10 && cache.room == 4 && free_granules(MAPPED) == 0);
    push(4);
    assert_int_equal(cache.room, 0);
    push(1);
    assert_true(cache.room == 0 && range_cache_granules(&cache) == 10 && free_granules(MAPPED) == 1);
    assert_int_equal(range_cache_pop(&cache, 5, CACHED_EXACT), 0);
    granule_id four = range_cache_pop(&cache, 4, CACHED_EXACT), six = range_cache_pop(&cache, 5, CACHED_LARGER);
    assert_true(knit_weight(four) == 4 && knit_weight(six) == 6 && cache.room == 10);
    assert_int_equal(range_cache_pop(&cache, 4, CACHED_LARGER), 0);
    assert_int_equal(cache.filled, 0);
    backend_place(four);
    backend_place(six);
    end_cache();
}

static void four_ranges_of_a_class(void **state) {
    (void)state;
    start_cache(100);
    for (unsigned i = 0; i < 5; i++) push(2);
    assert_true(range_cache_granules(&cache) == 8 && cache.room == 92 && free_granules(MAPPED) == 2);
    end_cache();
}

/* From as much on as reclaim_start says, and not before. */
static void a_cache_asks_for_a_round(void **state) {
    (void)state;
    start_cache(100);
    options.reclaim_start = 10 * GRANULE_SIZE;
    push(4);
    push(5);
    assert_int_equal(cache.quiet_room, 90);
    assert_false(reclaimer_take_request());
    push(1);
    assert_true(reclaimer_take_request());
    push(1);
    assert_true(reclaimer_take_request()); /* as long as it has so much */
    end_cache();
}

/* While the thread waits patiently, a cache tells when it has twice as many as when it told last. */
static void a_cache_tells_a_patient_thread(void **state) {
    (void)state;
    start_cache(100);
    reclaimer_announce_wait(PATIENT * 1); /* four times as much may be told of */
    thrift_purge_shared();                /* nothing was told */
    options.reclaim_start = 8 * GRANULE_SIZE;
    push(1);
    cache.quiet_room = INT32_MAX; /* as after a drain */
    size_t asks = thrift_counters.asks;
    push(4); /* tells of 5 */
    assert_int_equal(cache.quiet_room, 90);
    push(4);
    assert_int_equal(cache.quiet_room, 90);
    push(1); /* tells of 10 */
    assert_int_equal(cache.quiet_room, 80);
    assert_int_equal(thrift_counters.asks, asks);
    push(10); /* tells of 20: together 35, of 32 */
    assert_int_equal(cache.quiet_room, 60);
    assert_int_equal(thrift_counters.asks, asks + 1);
    end_cache();
}

static void two_drains_empty_it(void **state) {
    (void)state;
    start_cache(100);
    push(5);
    push(8);
    assert_true(range_cache_drain(&cache, false));
    assert_true(cache.drained == 0 && range_cache_granules(&cache) == 13 && cache.quiet_room == INT32_MAX);
    granule_id five = range_cache_pop(&cache, 5, CACHED_EXACT);
    assert_true(five && cache.room == 92);
    range_cache_push(&cache, five, 5); /* new again */
    assert_true(range_cache_drain(&cache, false));
    assert_true(cache.drained == 8 && range_cache_granules(&cache) == 5);
    assert_int_equal(free_granules(MAPPED), 0); /* the pages have gone */
    assert_false(range_cache_drain(&cache, false));
    assert_int_equal(cache.drained, 13);
    assert_true(cache.room == 87 && cache.drained_seen == 0);
    push(2); /* the owner learns of it */
    assert_true(cache.room == 98 && cache.most == 100 && cache.drained_seen == 13);
    push(2);
    assert_int_equal(cache.room, 96);
    range_cache_drain(&cache, true);
    assert_true(cache.drained == 17 && free_granules(MAPPED) == 4);
    assert_false(range_cache_drain(&cache, true));
    end_cache();
}

static void a_closed_cache_takes_none(void **state) {
    (void)state;
    start_cache(100);
    push(5);
    range_cache_close(&cache);
    assert_true(range_cache_granules(&cache) == 0 && cache.room == 0 && cache.most == 5);
    push(2);
    assert_true(range_cache_granules(&cache) == 0 && cache.room == 0);
    range_cache_enter(&cache);
    push(2);
    assert_int_equal(range_cache_granules(&cache), 2);
    end_cache();
}

/* What waits in the Nest beyond a root is taken off the share. */
static void what_waits_elsewhere_lessens_a_share(void **state) {
    (void)state;
    for (uint32_t waits_there = ROOT_GRANULES - 1; waits_there <= ROOT_GRANULES + 1; waits_there++) {
        start_cache(100);
        free_granules_add(MAPPED, waits_there);
        push(3);
        assert_int_equal(cache.most, 100 - (waits_there > ROOT_GRANULES));
        free_granules_add(MAPPED, -(intptr_t)waits_there);
        end_cache();
    }
}

static void a_shrink_frees_what_is_heavy(void **state) {
    (void)state;
    for (int32_t kept = 5; kept <= 13; kept++) {
        start_cache(100);
        push(1);
        push(5);
        push(7);
        range_cache_shrink(&cache, 5, kept); /* 5 first, then 7 */
        size_t left = kept < 8 ? 1 : kept < 13 ? 8 : 13;
        assert_int_equal(range_cache_granules(&cache), left);
        assert_int_equal(cache.room, 100 - (int32_t)left);
        assert_int_equal(cache.quiet_room, INT32_MAX);
        end_cache();
    }
    start_cache(100);
    push(5);
    push(7);
    range_cache_drain(&cache, true);
    range_cache_shrink(&cache, 1, 0); /* rounds have taken all */
    assert_true(cache.filled == 0 && cache.room == 88);
    end_cache();
}

/* Which classes serve a request of so many granules as they are. */
static void a_little_larger_range_fits(void **state) {
    (void)state;
    const uint32_t small = RANGE_CACHE_SMALL;
    const struct {
        uint32_t granules, served_by, not_by;
    } cases[] = {{4, 6, 7},
                 {5, 7, 8},
                 {9, 14, 16},
                 {small, 7 * small / 4 - small / 4, 7 * small / 4},
                 {small + 1, 3 * small / 2, 7 * small / 4},
                 {1, 1, 2},
                 {3, 3, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_cache(2 * ROOT_GRANULES);
        push(cases[i].not_by);
        uint32_t fitting = cached_fitting(cases[i].granules);
        assert_int_equal(range_cache_pop(&cache, cases[i].granules, fitting), 0);
        push(cases[i].served_by);
        granule_id range = range_cache_pop(&cache, cases[i].granules, fitting);
        assert_int_equal(knit_weight(range), cases[i].served_by);
        backend_place(range);
        end_cache();
    }
    for (uint32_t granules = 1; granules <= ROOT_GRANULES; granules++) { /* what core/sized.c accepts */
        unsigned more = 63 - (unsigned)__builtin_clzll(cached_fitting(granules));
        assert_true(weight_of_class(class_of_weight(granules) + more) < 2 * weight_round_up(granules));
    }
}

/* Whether two cached siblings of `half` granules join for one object, rather than that it gets new memory. As if the
 * cache had so many granules, and so many were in use. */
static bool cached_pair_joins(uint32_t half, uint32_t cached, size_t in_use) {
    start_cache(2 * ROOT_GRANULES);
    const granule_id other = fetch(ROOT_GRANULES), left = fetch(2 * half), right = knit_split(left, half);
    leaf_set(left, leaf_held());
    leaf_set(right, leaf_held());
    range_cache_push(&cache, left, half);
    range_cache_push(&cache, right, half);
    const int32_t more = (int32_t)(cached - 2 * half);
    const intptr_t missing = (intptr_t)in_use - (intptr_t)watermark_note_peak().all;
    cache.most += more;
    free_granules_add(UNMAPPED, -missing);
    bool zeroed;
    void *object = large_allocate(2 * half * GRANULE_SIZE, 1, &zeroed);
    cache.most -= more;
    free_granules_add(UNMAPPED, missing);
    const bool joins = granule_of(object) == left;
    assert_int_equal(zeroed, !joins);
    large_free(object);
    backend_place(other);
    end_cache();
    return joins;
}

/* Before memory without pages, the cache gives ranges to the Nest, where they join. */
static void cached_ranges_join_before_new_memory(void **state) {
    (void)state;
    const uint32_t half = RANGE_CACHE_KEPT / 2, most = RANGE_CACHE_KEPT + half;
    for (uint32_t cached = most - 1; cached <= most + 1; cached++) /* up to `most` only one of the two is freed */
        assert_int_equal(cached_pair_joins(half, cached, RANGE_CACHE_LITTLE + 1), cached > most);
}

/* A process with little in use caches nothing beside new memory, not even light ranges. */
static void a_small_process_caches_nothing_beside_new_memory(void **state) {
    (void)state;
    const uint32_t half = RANGE_CACHE_FREED_FROM / 2;
    for (size_t in_use = RANGE_CACHE_LITTLE - 1; in_use <= RANGE_CACHE_LITTLE + 1; in_use++)
        assert_int_equal(cached_pair_joins(half, 2 * half, in_use), in_use <= RANGE_CACHE_LITTLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_is_a_root_at_most),
        cmocka_unit_test(shares_are_equal),
        cmocka_unit_test(a_fork_s_child_has_all_of_it),
        cmocka_unit_test(what_has_no_room_goes_to_the_nest),
        cmocka_unit_test(four_ranges_of_a_class),
        cmocka_unit_test(a_cache_asks_for_a_round),
        cmocka_unit_test(a_cache_tells_a_patient_thread),
        cmocka_unit_test(two_drains_empty_it),
        cmocka_unit_test(a_closed_cache_takes_none),
        cmocka_unit_test(what_waits_elsewhere_lessens_a_share),
        cmocka_unit_test(a_shrink_frees_what_is_heavy),
        cmocka_unit_test(a_little_larger_range_fits),
        cmocka_unit_test(cached_ranges_join_before_new_memory),
        cmocka_unit_test(a_small_process_caches_nothing_beside_new_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
