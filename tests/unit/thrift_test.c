/* thrift_test.c - Thrift over simulated time: lifetimes, watermarks, refusals. The test runs the reclamation thread. */
#include "backend/thrift_buffers.h"
#include "thrift_world.h"

/* More frees than any policy may let pass between two looks at the clock, or two tries to start the thread. */
enum { MANY_FREES = 4096 };

/* a is freed before the first round, b while its wait goes on. */
static void free_b_in_the_first_wait(unsigned number) {
    if (number == 1) {
        CHECK(free_granules(MAPPED) >= BIG && is_dirty(a));
        leaf_set(b, leaf_held());
        backend_place(b);
    } else if (number == 2) {
        CHECK(!is_dirty(a) && is_dirty(b));
        CHECK(free_granules(MAPPED) == BIG);
    }
}

static void a_range_lives_one_to_two_rounds(void **state) {
    (void)state;
    start();
    backend_place(a);
    assert_true(is_dirty(a));
    at_wait = free_b_in_the_first_wait;
    run_thread();
    assert_false(is_dirty(b));
    assert_int_equal(waits, 2);
    assert_int_equal(thrift_counters.rounds, 2);
    assert_int_equal(thrift_counters.given_back, 2 * BIG * GRANULE_SIZE);
    assert_int_equal(thrift_counters.sync_reclaims, 0);
    assert_int_equal(platform_milliseconds(), 2 * options.reclaim_interval);
    assert_null(sim_take_thread()); /* the thread has ended: nothing is left */
    finish();
}

/* A join puts the result into the active buffer. */
static granule_id left, right;

static void free_right_in_the_first_wait(unsigned number) {
    if (number == 1) backend_place(right);
    if (number == 2) CHECK(is_dirty(left) && is_dirty(right) && knit_weight(left) == 2 * BIG);
}

static void a_join_restarts_the_countdown(void **state) {
    (void)state;
    start();
    granule_id whole = fetch(2 * BIG);
    left = whole;
    right = knit_split(whole, BIG);
    leaf_set(right, leaf_held());
    assert_int_equal(knit_weight(left), BIG);
    backend_place(left);
    at_wait = free_right_in_the_first_wait;
    run_thread();
    assert_int_equal(waits, 2);
    assert_false(is_dirty(left) || is_dirty(right));
    backend_place(a);
    backend_place(b);
    finish();
}

static void reuse_a_in_the_first_wait(unsigned number) {
    if (number == 1) CHECK(range_acquire(FOR_SMALL_SLABS, MAPPED, BIG) == a);
}

static void what_is_reused_stays(void **state) {
    (void)state;
    start();
    backend_place(a);
    at_wait = reuse_a_in_the_first_wait;
    run_thread();
    assert_true(is_dirty(a));
    assert_int_equal(thrift_counters.given_back, 0);
    backend_place(a);
    backend_place(b);
    finish();
}

static void little_memory_starts_no_thread(void **state) {
    (void)state;
    start();
    backend_place(one);
    one = range_acquire(FOR_SMALL_SLABS, MAPPED, 1);
    assert_null(sim_take_thread());
    backend_place(a);
    assert_non_null(sim_take_thread());
    backend_place(b);
    assert_null(sim_take_thread()); /* it runs already */
    finish();
}

/* As much as was in use may be cached: a program that frees all and allocates it again needs no new pages. */
static void up_to_the_recent_peak_freeing_keeps(void **state) {
    (void)state;
    granule_id parts[PARTS];
    scatter(parts);
    for (unsigned i = 1; i < PARTS; i += 2) backend_place(parts[i]);
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES);
    for (unsigned i = 0; i < PARTS; i++) parts[i] = fetch(PART);
    for (unsigned i = 0; i < PARTS; i += 2) backend_place(parts[i]);
    assert_int_equal(thrift_counters.sync_reclaims, 0);
    assert_int_equal(thrift_counters.given_back, 0);
    give_scattered_back(parts);
}

/* Another root in use: 1,536 granules at most, and up to 1,920 with what is cached. It is 2,048. */
static void above_the_watermark_freeing_gives_back(void **state) {
    (void)state;
    granule_id parts[PARTS];
    scatter(parts);
    granule_id whole = fetch_beside();
    backend_place(parts[1]);
    assert_int_equal(thrift_counters.sync_reclaims, 1);
    assert_int_equal(thrift_counters.given_back, PART * GRANULE_SIZE);
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES / 2);
    assert_int_equal(free_granules(UNMAPPED), PART);
    assert_true(is_dirty(parts[0]) && !is_dirty(parts[1]));
    parts[1] = 0;
    run_thread(); /* was woken early: its first wait takes no time */
    assert_int_equal(platform_milliseconds(), (waits - 1) * options.reclaim_interval);
    backend_place(whole);
    give_scattered_back(parts);
}

/* Four roots come into use while nothing waits, and go while but one may wait beyond what was in use. */
static void a_peak_counts_though_little_waits(void **state) {
    (void)state;
    granule_id many[4];
    start();
    options.cache_min = ROOT_SIZE + GRANULE_SIZE; /* the last one is not seen any more */
    options.cache_percent = 10;
    for (unsigned i = 0; i < 4; i++) many[i] = fetch(ROOT_GRANULES);
    granule_id last = fetch(1);
    for (unsigned i = 0; i < 4; i++) backend_place(many[i]);
    assert_int_equal(thrift_counters.given_back, 0);
    backend_place(last);
    backend_place(a);
    backend_place(b);
    finish();
}

/* As before, but after five roots were in use; whether a range is given back then. */
static bool gives_back_after_a_peak(bool rounds) {
    granule_id parts[PARTS], many[4];
    scatter(parts);
    for (unsigned i = 0; i < 4; i++) many[i] = fetch_beside();
    for (unsigned i = 0; i < 4; i++) backend_place(many[i]);
    if (rounds) run_thread();
    for (unsigned i = 0; i < PARTS; i += 2) parts[i] = fetch(PART);
    for (unsigned i = 0; i < PARTS; i += 2) backend_place(parts[i]);
    granule_id whole = fetch_beside();
    size_t before = thrift_counters.sync_reclaims;
    backend_place(parts[1]);
    parts[1] = 0;
    size_t after = thrift_counters.sync_reclaims;
    backend_place(whole);
    give_scattered_back(parts);
    return after > before;
}

static void an_old_peak_is_forgotten(void **state) {
    (void)state;
    assert_false(gives_back_after_a_peak(false));
    assert_true(gives_back_after_a_peak(true));
}

/* 0 %: whatever was in use, only the minimum. */
static void without_a_share_the_minimum_is_all(void **state) {
    (void)state;
    granule_id parts[PARTS];
    scatter(parts);
    options.cache_min = ROOT_SIZE / 2;
    options.cache_percent = 0;
    backend_place(parts[1]);
    assert_int_equal(thrift_counters.sync_reclaims, 1);
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES / 2);
    parts[1] = 0;
    give_scattered_back(parts);
}

static void a_refused_discard_keeps_the_range_mapped(void **state) {
    (void)state;
    start();
    options.cache_min = options.cache_percent = 0;
    options.reclaim_thread = THREAD_FALSE;
    sim_fail_after(0);
    backend_place(a);
    assert_int_equal(thrift_counters.sync_reclaims, 0);
    assert_true(give_back_take_refusal());
    assert_int_equal(thrift_given_back(), 0);
    assert_int_equal(thrift_reclaim(ownership_active(), false), BIG);
    assert_int_equal(free_granules(MAPPED), BIG);
    size_t unmapped = free_granules(UNMAPPED);
    assert_int_equal(thrift_purge(), 0); /* joins free neighbours: the root may be whole */
    assert_true(free_granules(MAPPED) >= BIG);
    assert_int_equal(free_granules(MAPPED) + free_granules(UNMAPPED), BIG + unmapped);
    sim_fail_after(SIM_NEVER);
    give_back_take_refusal();
    assert_true(thrift_purge() >= BIG * GRANULE_SIZE);
    assert_false(give_back_was_refused());
    assert_int_equal(free_granules(MAPPED), 0);
    assert_int_equal(thrift_reclaim(ownership_active(), false), 0);
    assert_false(is_dirty(a));
    backend_place(b);
    finish();
}

static void a_root_that_the_system_did_not_take_is_offered_again(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_FALSE;
    backend_place(before);
    backend_place(one);
    backend_place(keeper);
    backend_place(a);
    backend_place(b);
    sim_fail_only(SIM_UNMAP);
    sim_fail_after(0);
    thrift_purge();
    assert_int_equal(root_count(), 1);
    sim_fail_after(SIM_NEVER);
    thrift_purge();
    assert_int_equal(root_count(), 0);
}

static void rounds_give_back_roots_whose_pages_the_system_refuses(void **state) {
    (void)state;
    start();
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    granule_id ranges[] = {before, one, keeper, a, b};
    for (unsigned i = 0; i < sizeof ranges / sizeof *ranges; i++) backend_place(ranges[i]);
    run_thread();
    assert_int_equal(root_count(), 0);
    sim_fail_after(SIM_NEVER);
    give_back_take_refusal();
}

/* A part of the first root is closed, and the OS takes no pages of the other: the whole root goes back all the same. */
static void a_purge_opens_the_closed_parts_of_a_locked_root(void **state) {
    (void)state;
    start_backend();
    granule_id left = root_create(FOR_SMALL_SLABS), part = knit_split(left, ROOT_GRANULES / 2);
    leaf_set(part, leaf_held());
    assert_true(root_close_part(part));
    free_granules_add(UNMAPPED, (intptr_t)knit_weight(part));
    range_place(left, MAPPED);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    for (unsigned times = 0; times < 2; times++) thrift_purge();
    sim_fail_after(SIM_NEVER);
    assert_int_equal(root_count(), 0);
    give_back_take_refusal();
}

static void wake_three_times(unsigned number) {
    if (number <= 3) reclaimer_wake();
    else reclaimer_pause_begins();
}

/* A program that wakes the thread early works: its peak is not forgotten after two such rounds. */
static void early_rounds_keep_the_peak(void **state) {
    (void)state;
    start();
    struct usage peak = watermark_note_peak();
    backend_place(a);
    at_wait = wake_three_times;
    run_thread();
    assert_false(watermark_rises(peak, 0));
    reclaimer_forget();
    backend_place(b);
    finish();
}

static unsigned trims;

/* A round of another thread ends while the first purge of a trim is under way. */
static wide_bool a_round_ends_meanwhile(wide_bool now) {
    if (now && trims++ == 0) {
        reclaimer_begin_work();
        reclaimer_end_work();
    }
    return false;
}

static void a_trim_looks_again_after_a_round(void **state) {
    (void)state;
    start();
    thrift_on_round(ROUND_SLABS, a_round_ends_meanwhile);
    trims = 0;
    thrift_trim();
    assert_int_equal(trims, 2);
    backend_place(a);
    backend_place(b);
    finish();
}

/* Frees a granule that joins nothing, again and again, one millisecond each. */
static void free_often(unsigned times) {
    while (times-- > 0) {
        backend_place(one);
        sim_advance(1);
        CHECK(range_acquire(FOR_SMALL_SLABS, MAPPED, 1) == one);
    }
}

static void without_a_thread_freeing_threads_run_rounds(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_FALSE;
    backend_place(a);
    assert_null(sim_take_thread());
    assert_true(is_dirty(a));
    free_often(2 * ((unsigned)options.reclaim_interval + MANY_FREES));
    assert_null(sim_take_thread());
    assert_true(thrift_counters.rounds >= 2);
    assert_false(is_dirty(a));
    size_t rounds = thrift_counters.rounds;
    options.reclaim_interval = 60000;
    backend_place(b);
    free_often(MANY_FREES); /* the interval has not passed */
    assert_int_equal(thrift_counters.rounds, rounds);
    finish();
}

static void a_request_has_one_round(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_FALSE;
    thrift_wake();
    assert_null(sim_take_thread());
    for (unsigned turns = 0; turns < 3; turns++) {
        sim_advance((uint32_t)options.reclaim_interval);
        thrift_take_turn();
        assert_int_equal(thrift_counters.rounds, 1);
    }
    backend_place(a);
    backend_place(b);
    finish();
}

static void a_refused_thread_is_tried_again(void **state) {
    (void)state;
    start();
    sim_fail_after(0);
    backend_place(a);
    sim_fail_after(SIM_NEVER);
    assert_null(sim_take_thread());
    backend_place(b);
    assert_null(sim_take_thread());
    free_often(MANY_FREES);
    assert_true(thrift_counters.rounds >= 1);
    run_thread();
    assert_false(is_dirty(a));
    finish();
}

static wide_bool more_to_do(wide_bool now) {
    return !now;
}

static uint64_t last_look, last_wait;

static void waits_grow(unsigned number) {
    uint64_t wait = platform_milliseconds() - last_look;
    CHECK(number == 1 || wait > last_wait);
    last_wait = number == 1 ? 0 : wait;
    last_look = platform_milliseconds();
}

/* Heaps without anything to give back are looked after ever more rarely, and not for ever. */
static void quiet_rounds_fade_away(void **state) {
    (void)state;
    start();
    backend_place(a);
    backend_place(b);
    thrift_purge();
    reclaimer_forget();
    assert_non_null(sim_take_thread());
    thrift_on_round(ROUND_SLABS, more_to_do);
    at_wait = waits_grow;
    thrift_wake();
    run_thread();
    assert_true(waits >= 2);
    thrift_wake();
    assert_non_null(sim_take_thread()); /* it can be started again */
    finish();
}

static void a_purge_gives_everything_back(void **state) {
    (void)state;
    start();
    backend_place(a);
    assert_int_equal(thrift_purge(), BIG * GRANULE_SIZE);
    assert_int_equal(free_granules(MAPPED), 0);
    assert_true(free_granules(UNMAPPED) >= BIG);
    assert_false(is_dirty(a));
    assert_int_equal(thrift_purge(), 0);
    backend_place(b);
    finish();
}

static unsigned purges;

static wide_bool purged(wide_bool now) {
    purges += now;
    return false;
}

/* A slab of the midend has something to take its place; the frontend asks for a purge itself. A purge looks at every
 * record: at a limit on addresses each object would pay for one. */
static void only_the_last_way_to_memory_purges(void **state) {
    (void)state;
    bool zeroed;
    start();
    thrift_on_round(ROUND_SLABS, purged);
    sim_fail_after(0);
    purges = 0;
    assert_null(backend_fetch(FOR_OTHER_RANGES, ROOT_GRANULES, &zeroed));
    assert_int_equal(purges, 0);
    assert_null(backend_fetch(FOR_SMALL_SLABS, ROOT_GRANULES, &zeroed));
    assert_int_equal(purges, 0);
    assert_null(large_allocate(ROOT_SIZE - LARGE_GUARD, 1, &zeroed));
    assert_int_equal(purges, 1);
    thrift_on_round(ROUND_SLABS, NULL);
    backend_place(a);
    backend_place(b);
    finish();
}

/* Unused memory is given up only for a request that it can serve, or that it can serve with what the system has. */
static void giving_all_back_may_help_or_not(void **state) {
    (void)state;
    start();
    size_t reserved = sim_reserved(), impossible = SIZE_MAX / 4;
    assert_true(thrift_may_help(ROOT_SIZE / 2));
    assert_true(thrift_may_help(3 * ROOT_SIZE));
    if (sizeof(void *) == 8) assert_false(thrift_may_help(impossible));
    assert_int_equal(sim_reserved(), reserved);
    options.limit_hard = ROOT_SIZE;
    assert_false(thrift_may_help(ROOT_SIZE + 1));
    options.limit_hard = 0;
    backend_place(a);
    backend_place(b);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_lives_one_to_two_rounds),
        cmocka_unit_test(a_join_restarts_the_countdown),
        cmocka_unit_test(what_is_reused_stays),
        cmocka_unit_test(little_memory_starts_no_thread),
        cmocka_unit_test(up_to_the_recent_peak_freeing_keeps),
        cmocka_unit_test(above_the_watermark_freeing_gives_back),
        cmocka_unit_test(a_peak_counts_though_little_waits),
        cmocka_unit_test(an_old_peak_is_forgotten),
        cmocka_unit_test(without_a_share_the_minimum_is_all),
        cmocka_unit_test(a_refused_discard_keeps_the_range_mapped),
        cmocka_unit_test(a_root_that_the_system_did_not_take_is_offered_again),
        cmocka_unit_test(without_a_thread_freeing_threads_run_rounds),
        cmocka_unit_test(a_request_has_one_round),
        cmocka_unit_test(rounds_give_back_roots_whose_pages_the_system_refuses),
        cmocka_unit_test(a_purge_opens_the_closed_parts_of_a_locked_root),
        cmocka_unit_test(early_rounds_keep_the_peak),
        cmocka_unit_test(a_trim_looks_again_after_a_round),
        cmocka_unit_test(a_refused_thread_is_tried_again),
        cmocka_unit_test(quiet_rounds_fade_away),
        cmocka_unit_test(a_purge_gives_everything_back),
        cmocka_unit_test(only_the_last_way_to_memory_purges),
        cmocka_unit_test(giving_all_back_may_help_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
