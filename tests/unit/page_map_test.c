/* page_map_test.c - a window of 32 slots over an arena of twice its size: none share a slot, none is lost. */
#include "unit.h"

enum { SLOTS = (1u << (JW_WINDOW_SHIFT - JW_ROOT_SHIFT)), STEPS = 300 };

static void slots_are_found_and_never_shared(void **state) {
    (void)state;
    start_backend();
    size_t tables = sim_reserved();
    granule_id roots[SLOTS];
    unsigned count = 0;
    while (count < SLOTS && (roots[count] = root_create(FOR_SMALL_SLABS))) {
        char *address = granule_address(roots[count]);
        assert_true((uintptr_t)address % ROOT_SIZE == 0 && granule_of(address) == roots[count]);
        assert_true(page_map_owns(address) && page_map_owns(address + ROOT_SIZE - 1));
        for (unsigned i = 0; i < count; i++)
            assert_int_not_equal(roots[i] / ROOT_GRANULES, roots[count] / ROOT_GRANULES);
        count++;
    }
    assert_true(count >= SLOTS / 2 &&
                count < SLOTS); /* never the one with granule 0; the search stops short of the whole window */
    assert_int_equal(sim_reserved(), tables + count * ROOT_SIZE); /* what was tried has gone back */
    while (count > 0) assert_true(root_destroy(roots[--count], false));
    assert_int_equal(sim_reserved(), tables);
    assert_int_equal(claimed_slots(), 0);
}

/* For each granule a record and three words, for each root its slot's word, and a page behind them. */
static void tables_are_no_larger_than_needed(void **state) {
    (void)state;
    enum { GRANULES = SLOTS * ROOT_GRANULES, FENCE = 1 };
    start_backend();
    size_t page = platform_page_size(), slots = SLOTS * sizeof(uintptr_t);
    size_t words = (GRANULES * WORDS_SIZE + slots + page - 1) / page * page;
    assert_int_equal(sim_reserved(), GRANULES * RECORD_SIZE + words + FENCE * page);
}

static size_t limit; /* of the address space; 0: the simulated one */
size_t __real_platform_address_limit(void);
size_t __wrap_platform_address_limit(void);

size_t __wrap_platform_address_limit(void) {
    return limit ? limit : __real_platform_address_limit();
}

/* Half of the window suffices where the limit is below that half. The smallest window has 16 roots. */
static void a_limit_makes_the_window_smaller(void **state) {
    (void)state;
    const size_t half = (size_t)1 << (JW_WINDOW_SHIFT - 1), most = SLOTS * ROOT_GRANULES;
    const struct {
        size_t limit, granules;
    } cases[] = {{2 * half, most}, {half, most}, {half - 1, most / 2}, {1, most / 2}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        limit = cases[i].limit;
        start_backend();
        assert_int_equal(page_map.mask, cases[i].granules - 1);
    }
    limit = 0;
}

/* A start that the system refuses halfway leaves nothing, and can be tried again. */
static void a_refused_start_leaves_nothing(void **state) {
    (void)state;
    unsigned refusals = 0;
    for (bool started = false; !started; refusals++) {
        sim_reset();
        memset(&directory, 0, sizeof directory);
        sim_fail_only(SIM_RESERVE);
        sim_fail_after(refusals);
        started = page_map_start();
        sim_fail_after(SIM_NEVER);
        sim_fail_only(SIM_ANY);
        assert_int_equal(sim_reserved() == 0, !started);
        assert_true(refusals < 20);
    }
    assert_true(refusals > 1);
}

static void mappings_come_and_go(void **state) {
    (void)state;
    start_backend();
    size_t tables = sim_reserved();
    char *mappings[SLOTS] = {NULL};
    size_t reserved = 0;
    uint64_t randomness = 1;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned at = (unsigned)random_below(&randomness, SLOTS - 2);
        if (mappings[at]) {
            assert_true(page_map_owns(mappings[at]) && bytes_are_zero(mappings[at], 4096));
            assert_true(page_map_give_back(mappings[at]));
            assert_false(page_map_owns(mappings[at]));
            reserved -= ROOT_SIZE;
            mappings[at] = NULL;
        } else {
            size_t count = 1;
            mappings[at] = page_map_reserve(&count);
            reserved += mappings[at] ? ROOT_SIZE : 0;
        }
        assert_int_equal(sim_reserved(), tables + reserved);
    }
    for (unsigned at = 0; at < SLOTS; at++)
        if (mappings[at]) assert_true(page_map_give_back(mappings[at]));
    assert_int_equal(sim_reserved(), tables);
}

/* Tables that were never written read as zero: no object begins there. */
static void words_never_written_are_none(void **state) {
    (void)state;
    start_backend();
    granule_id root = root_create(FOR_SMALL_SLABS);
    assert_int_equal(leaf_kind(leaf_get(root + 1)), NONE);
    assert_true(leaf_same(leaf_get(root + 1), leaf_none()));
    assert_true(root_destroy(root, false));
}

static unsigned visited;

static void visit(granule_id id, void *context) {
    visited += id == *(granule_id *)context;
}

static void refusals_change_nothing(void **state) {
    (void)state;
    start_backend();
    sim_fail_after(0);
    assert_int_equal(root_create(FOR_SMALL_SLABS), 0);
    sim_fail_after(SIM_NEVER);
    granule_id root = root_create(FOR_SMALL_SLABS);
    sim_fail_after(0);
    assert_false(root_destroy(root, false));
    sim_fail_after(SIM_NEVER);
    assert_true(page_map_owns(granule_address(root)) && leaf_same(leaf_get(root), leaf_held()));
    assert_true(root_walk_begin());
    page_map_walk(visit, &root);
    assert_int_equal(visited, 1);
    assert_false(root_destroy(root, false)); /* under a walker's eyes */
    root_walk_end();
    assert_true(root_destroy(root, false));
    assert_int_equal(root_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_found_and_never_shared), cmocka_unit_test(tables_are_no_larger_than_needed),
        cmocka_unit_test(a_refused_start_leaves_nothing),   cmocka_unit_test(mappings_come_and_go),
        cmocka_unit_test(words_never_written_are_none),     cmocka_unit_test(refusals_change_nothing),
        cmocka_unit_test(a_limit_makes_the_window_smaller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
