/* limits_test.c - the limits that the program sets: what the soft one makes of frees and rounds, what the hard one
 * refuses. process/memory_limits.c compares what is counted with what the kernel charges. */
#include "backend/give_back.h"
#include "backend/headroom.h"
#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "backend/shortage.h"
#include "config/policy.h"
#include "thrift_world.h"

static unsigned rounds_made, purges_made;

static wide_bool count_round(wide_bool now) {
    ++*(now ? &purges_made : &rounds_made);
    return false;
}

/* Above the soft limit nothing stays cached, and rounds are purges. */
static void the_soft_limit_makes_purges_of_rounds(void **state) {
    (void)state;
    start();
    thrift_on_round(ROUND_SLABS, count_round);
    backend_place(a);
    assert_int_equal(free_granules(MAPPED), BIG);
    options.limit_soft = limits_committed();
    thrift_wake();
    run_thread();
    assert_true(rounds_made > 0 && purges_made == 0);
    options.limit_soft = 1;
    backend_place(b);
    assert_int_equal(free_granules(MAPPED), 0);
    thrift_wake();
    unsigned before_limit = rounds_made;
    run_thread();
    assert_true(rounds_made == before_limit && purges_made > 0);
    finish();
}

/* The group's room goes down to its reserve: what is cached goes back in the next round, rounds come sooner. With room
 * again, or without the option, all is as before. */
static void pressure_gives_back_what_is_cached(void **state) {
    (void)state;
    enum { GROUP = 64 << 20, RESERVE = GROUP / PRESSURE_RESERVE };
    start();
    backend_place(a);
    sim_group = (struct group_memory){.most = GROUP, .room = RESERVE};
    thrift_wake();
    thrift_purge_shared();
    assert_int_equal(free_granules(MAPPED), BIG); /* the option is off */
    assert_int_equal(pressure_limit, 0);
    options.pressure = true;
    sim_group.room = RESERVE - BIG / 2 * GRANULE_SIZE;
    thrift_purge_shared();
    assert_true(free_granules(MAPPED) <= BIG / 2);
    assert_true(watermark_minimum() > 0); /* as much as was above the limit has gone */
    sim_group.room = 0;
    thrift_purge_shared();
    assert_int_equal(watermark_minimum(), 0);
    backend_place(b);
    assert_int_equal(free_granules(MAPPED), 0);
    sim_group.room = GROUP - RESERVE;
    thrift_purge_shared();
    assert_true(watermark_minimum() > 0);
    sim_group.stalled = PRESSURE_STALLED;
    thrift_purge_shared();
    assert_int_equal(pressure_limit, 1);
    sim_group = (struct group_memory){.most = SIZE_MAX, .room = SIZE_MAX, .stalled = PRESSURE_STALLED};
    pressure_limit = 0;
    thrift_purge_shared();
    assert_int_equal(pressure_limit, 1);                  /* threads wait for memory, for whatever reason */
    for (size_t most = SIZE_MAX - 1; most != 0; most++) { /* none, or beyond our addresses */
        sim_group = (struct group_memory){.most = most, .room = most};
        thrift_purge_shared();
        assert_int_equal(pressure_limit, 0);
    }
    run_thread();
    options.pressure = false;
    finish();
}

/* The round that finds the pressure is a purge itself. */
static void pressure_acts_in_the_round_that_finds_it(void **state) {
    (void)state;
    start();
    thrift_on_round(ROUND_SLABS, count_round);
    rounds_made = purges_made = 0;
    options.pressure = true;
    sim_group = (struct group_memory){.most = SIZE_MAX, .room = SIZE_MAX, .stalled = PRESSURE_STALLED};
    thrift_wake();
    run_thread();
    assert_true(rounds_made == 0 && purges_made > 0);
    sim_group.stalled = 0;
    thrift_purge_shared();
    assert_int_equal(pressure_limit, 0);
    options.pressure = false;
    backend_place(a);
    backend_place(b);
    finish();
}

/* Above the soft limit new memory first takes the place of what is cached. A round is asked for only if that does not
 * suffice. */
static void headroom_comes_before_a_round(void **state) {
    (void)state;
    start();
    backend_place(a);
    options.limit_soft = limits_committed() - GRANULE_SIZE;
    size_t asks = thrift_counters.asks;
    assert_true(thrift_admit(1));
    assert_int_equal(thrift_counters.asks, asks);
    options.limit_soft = GRANULE_SIZE;
    assert_true(thrift_admit(1));
    assert_int_equal(thrift_counters.asks, asks + 1);
    options.limit_soft = 0;
    backend_place(b);
    finish();
}

/* A large object does not grow into memory without pages that the hard limit has no room for; a huge one grows by what
 * it needs beyond what it has, which cached memory makes room for. */
static void the_hard_limit_bounds_growth(void **state) {
    (void)state;
    enum { LARGE = 8 * GRANULE_SIZE, MORE = 8 * GRANULE_SIZE, HUGE_OBJECT = 5 << 20 };
    bool zeroed;
    start();
    char *large = large_allocate(2 * LARGE, 1, &zeroed), *huge = huge_allocate(HUGE_OBJECT, 1, NULL);
    assert_true(large_shrink(large, LARGE));
    thrift_purge();
    uint64_t stamp = thrift_change_stamp();
    char *one_more = huge_allocate(HUGE_OBJECT, 1, NULL);
    assert_int_not_equal(thrift_change_stamp(), stamp); /* there is less to give back */
    huge_free(one_more);
    thrift_purge();
    options.limit_hard = limits_committed();
    assert_false(large_grow(large, 2 * LARGE));
    assert_int_equal(large_usable_size(large), LARGE);
    options.limit_hard = 0;
    assert_true(large_grow(large, 2 * LARGE));
    backend_place(a);
    options.limit_hard = limits_committed();
    assert_true(free_granules(MAPPED) >= BIG);
    huge = huge_resize(huge, huge_usable_size(huge), HUGE_OBJECT + MORE);
    assert_non_null(huge);
    options.limit_hard = 0;
    huge_free(huge);
    large_free(large);
    backend_place(b);
    finish();
}

/* What joins last has pages, but not what joins before it. */
static void the_hard_limit_counts_all_that_joins(void **state) {
    (void)state;
    enum { LARGE = 8 * GRANULE_SIZE, COUNT = 32 };
    bool zeroed;
    char *large[COUNT];
    unsigned at = 0;
    start();
    for (unsigned i = 0; i < COUNT; i++) large[i] = large_allocate(LARGE, 1, &zeroed);
    while ((uintptr_t)large[at] % (4 * LARGE) || large[at + 2] != large[at] + 2 * LARGE) assert_true(++at < COUNT - 3);
    large_free(large[at + 1]);
    thrift_purge();
    large_free(large[at + 2]);
    assert_int_equal(free_granules(MAPPED), LARGE / GRANULE_SIZE);
    options.limit_hard = limits_committed();
    assert_false(large_grow(large[at], 3 * LARGE));
    assert_int_equal(large_usable_size(large[at]), LARGE);
    options.limit_hard = 0;
    assert_true(large_grow(large[at], 3 * LARGE));
    for (unsigned i = 0; i < COUNT; i++)
        if (i != at + 1 && i != at + 2) large_free(large[i]);
    backend_place(a);
    backend_place(b);
    finish();
}

/* One granule is cached, and the system refuses it: it may still serve. */
static void what_is_refused_waits_on(void **state) {
    (void)state;
    start();
    granule_id one = fetch(1), next = fetch(1);
    backend_place(one);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    assert_true(free_granules(MAPPED) == 1 && thrift_make_room(ROOT_SIZE));
    give_back_take_refusal();
    sim_fail_after(SIM_NEVER);
    backend_place(next);
    backend_place(a);
    backend_place(b);
    finish();
}

/* A purge whose pages the system has refused is not made again until something changes. */
static void a_refused_purge_is_not_repeated(void **state) {
    (void)state;
    start();
    backend_place(a);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    assert_true(thrift_make_room(ROOT_SIZE));
    uint64_t refused = sim_refused();
    assert_true(thrift_make_room(ROOT_SIZE));
    assert_int_equal(sim_refused(), refused);
    backend_place(b);
    assert_true(thrift_make_room(ROOT_SIZE));
    assert_true(sim_refused() > refused);
    give_back_take_refusal();
    finish();
}

/* Only the limit of pressure decides whether a round yields, whatever the program's soft limit says. */
static void no_pressure_yields_nothing(void **state) {
    (void)state;
    enum { ABOVE = BIG / 4 };
    start();
    backend_place(a);
    size_t committed = limits_committed();
    options.limit_soft = 1;
    pressure_limit = 0; /* none */
    thrift_yield_to_pressure();
    assert_int_equal(free_granules(MAPPED), BIG);
    pressure_limit = committed; /* not exceeded */
    thrift_yield_to_pressure();
    assert_int_equal(free_granules(MAPPED), BIG);
    options.limit_soft = 0;
    pressure_limit = committed - 1; /* exceeded by less than a granule */
    assert_true(limits_are_pressed());
    pressure_limit = committed - ABOVE * GRANULE_SIZE;
    thrift_yield_to_pressure();
    assert_true(free_granules(MAPPED) <= BIG - ABOVE);
    pressure_limit = 0;
    assert_false(limits_are_pressed());
    backend_place(b);
    finish();
}

static void pressure_takes_no_more_than_it_must(void **state) {
    (void)state;
    enum { MANY = HEADROOM_RANGES + 2, SINGLES = 2 * (1 + 2 + MANY) + 1 };
    static const size_t amounts[] = {1, 2, MANY};
    granule_id single[SINGLES];
    start();
    for (unsigned i = 0; i < SINGLES; i++) single[i] = fetch(1);
    for (unsigned i = 0; i < SINGLES; i += 2) backend_place(single[i]); /* those between keep them apart */
    for (unsigned i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        size_t before = free_granules(MAPPED);
        pressure_limit = limits_committed() - amounts[i] * GRANULE_SIZE;
        thrift_yield_to_pressure();
        assert_int_equal(before - free_granules(MAPPED), amounts[i]);
    }
    pressure_limit = 0;
    for (unsigned i = 1; i < SINGLES; i += 2) backend_place(single[i]);
    backend_place(a);
    backend_place(b);
    finish();
}

/* What has pages is served again; more is not, until it can be had in place of what is cached. */
static void the_hard_limit_refuses_new_pages(void **state) {
    (void)state;
    bool zeroed;
    start();
    options.limit_hard = limits_committed();
    backend_place(a);
    a = fetch(BIG);
    assert_null(backend_fetch(FOR_SMALL_SLABS, 1, &zeroed));
    backend_place(b);
    b = fetch(BIG / 2);
    granule_id second = fetch(BIG / 2);
    assert_null(backend_fetch(FOR_OTHER_RANGES, BIG, &zeroed));
    assert_true(limits_committed() <= options.limit_hard);
    backend_place(second);
    options.limit_hard = 0;
    second = fetch(2 * BIG);
    backend_place(second);
    backend_place(a);
    backend_place(b);
    finish();
}

/* A cached mapping is no way around the limit: where the limit has no room for what would be added, it goes. */
static void the_hard_limit_refuses_a_cached_mapping(void **state) {
    (void)state;
    enum { HUGE_SIZE = 8 << 20, START = HUGE_START_PART > 1 ? HUGE_SIZE / 2 : 0 };
    start();
    options.cache_min = HUGE_SIZE / 2;
    options.cache_percent = 0;
    huge_free(memset(huge_allocate(HUGE_SIZE, 1, NULL), 1, HUGE_SIZE));
    assert_int_equal(mapping_cache_bytes(), START);
    size_t reserved = sim_reserved();
    options.limit_hard = limits_committed() + HUGE_SIZE - START - 1;
    assert_null(huge_allocate(HUGE_SIZE, 1, NULL));
    assert_int_equal(mapping_cache_bytes(), 0);
    assert_int_equal(huge_bytes_in_use(), 0);
    assert_int_equal(sim_reserved(), reserved - START);
    options.limit_hard = 0;
    backend_place(a);
    backend_place(b);
    finish();
}

/* The limit has just room for what is asked for: the cached mapping, which counts already, grows to that. */
static void a_cached_mapping_grows_up_to_the_limit(void **state) {
    (void)state;
    enum { HUGE_SIZE = 8 << 20, START = HUGE_START_PART > 1 ? HUGE_SIZE / 2 : 0 };
    start();
    options.cache_percent = 0;
    for (unsigned turn = 0; turn < 2; turn++) { /* in the first one the directory may have got tables */
        options.cache_min = 0;
        thrift_make_room(SIZE_MAX);
        size_t before = limits_committed(), dirty = 1;
        options.cache_min = HUGE_SIZE / 2;
        huge_free(memset(huge_allocate(HUGE_SIZE, 1, &dirty), 1, HUGE_SIZE));
        assert_int_equal(dirty, 0);
        assert_int_equal(mapping_cache_bytes(), START);
        options.limit_hard = before + HUGE_SIZE;
        char *object = huge_allocate(HUGE_SIZE, 1, &dirty);
        assert_non_null(object);
        assert_int_equal(dirty, START);
        assert_int_equal(huge_usable_size(object), HUGE_SIZE);
        assert_true(sim_is_zero(object + dirty, HUGE_SIZE - dirty));
        assert_int_equal(mapping_cache_bytes(), 0);
        assert_int_equal(limits_committed(), before + HUGE_SIZE);
        options.limit_hard = 0;
        huge_free(object);
        mapping_cache_drain(ANY_BUFFER, SIZE_MAX);
        assert_int_equal(limits_committed(), before);
    }
    backend_place(a);
    backend_place(b);
    finish();
}

/* A purge can give back the roots, and mappings that wait. The system must have the rest, which a probe tells. */
static void a_purge_helps_if_the_system_has_the_rest(void **state) {
    (void)state;
    enum { HUGE_SIZE = 8 << 20 };
    if (sizeof(void *) < 8) skip(); /* nothing is probed there */
    start();
    huge_free(huge_allocate(HUGE_SIZE, 1, NULL));
    size_t ours = (root_count() + root_spares()) * ROOT_SIZE + HUGE_SIZE, page = platform_page_size();
    size_t reserved = sim_reserved();
    assert_true(thrift_may_help(ours + 4 * page));
    assert_int_equal(sim_reserved(), reserved);
    sim_fail_only(SIM_RESERVE);
    sim_fail_after(0);
    uint64_t refused = sim_refused();
    assert_true(thrift_may_help(1));
    assert_true(thrift_may_help(ours));
    assert_true(thrift_may_help(ours + page - 1)); /* no whole page: nothing to probe */
    assert_int_equal(sim_refused(), refused);
    assert_false(thrift_may_help(ours + page));
    assert_false(thrift_may_help(ours + 2 * page - 1));
    assert_int_equal(sim_refused(), refused + 2);
    sim_fail_after(SIM_NEVER);
    options.limit_hard = ours;
    assert_false(thrift_may_help(ours + page));
    options.limit_hard = 0;
    backend_place(a);
    backend_place(b);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_soft_limit_makes_purges_of_rounds),
        cmocka_unit_test(pressure_gives_back_what_is_cached),
        cmocka_unit_test(pressure_acts_in_the_round_that_finds_it),
        cmocka_unit_test(headroom_comes_before_a_round),
        cmocka_unit_test(the_hard_limit_bounds_growth),
        cmocka_unit_test(the_hard_limit_counts_all_that_joins),
        cmocka_unit_test(what_is_refused_waits_on),
        cmocka_unit_test(a_refused_purge_is_not_repeated),
        cmocka_unit_test(no_pressure_yields_nothing),
        cmocka_unit_test(pressure_takes_no_more_than_it_must),
        cmocka_unit_test(the_hard_limit_refuses_new_pages),
        cmocka_unit_test(the_hard_limit_refuses_a_cached_mapping),
        cmocka_unit_test(a_cached_mapping_grows_up_to_the_limit),
        cmocka_unit_test(a_purge_helps_if_the_system_has_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
