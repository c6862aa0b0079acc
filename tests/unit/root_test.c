/* root_test.c - roots that are mapped ahead: when, how many, and how they go. */
#include "unit.h"

#include <stdlib.h>

#include "backend/knit.h"
#include "backend/limits.h"
#include "backend/range_fetch.h"
#include "backend/shortage.h"
#include "config/policy.h"

/* A thread that asks for memory, and is then held up for ever by `at_reserve`. */
static void (*at_reserve)(void);
void *__real_page_map_reserve(size_t *count);
void *__wrap_page_map_reserve(size_t *count);

void *__wrap_page_map_reserve(size_t *count) {
    if (at_reserve) at_reserve();
    return __real_page_map_reserve(count);
}

/* Another thread begins a walk while a root is on its way back to the OS. */
static void (*at_give_back)(void);
static unsigned sleeps;
wide_bool __real_page_map_give_back(char *root);
wide_bool __wrap_page_map_give_back(char *root);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);

wide_bool __wrap_page_map_give_back(char *root) {
    if (at_give_back) at_give_back();
    return __real_page_map_give_back(root);
}

void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    assert_true(atomic_load(word) == expected && milliseconds == WALK_WAIT);
    sleeps++;
}

static size_t tables;

/* The first root, and the second one with all spares. */
static void two_roots(granule_id roots[2]) {
    start_backend();
    tables = sim_reserved();
    roots[0] = root_create(FOR_OTHER_RANGES);
    assert_true(roots[0] && root_spares() == 0 && sim_reserved() == tables + ROOT_SIZE);
    roots[1] = root_create(FOR_OTHER_RANGES);
    assert_int_equal(root_spares(), JW_SPARE_ROOTS);
    assert_int_equal(sim_reserved(), tables + (2 + JW_SPARE_ROOTS) * ROOT_SIZE);
    assert_true(root_count() == 2 && claimed_slots() == 2 + JW_SPARE_ROOTS);
}

static void none_left(granule_id *roots, unsigned count) {
    while (count > 0) assert_true(root_destroy(roots[--count], false));
    root_unmap_spares();
    assert_true(sim_reserved() == tables && claimed_slots() == 0);
}

static void spares_come_before_the_os_is_asked(void **state) {
    (void)state;
    granule_id roots[2 + JW_SPARE_ROOTS];
    two_roots(roots);
    sim_fail_after(0);
    for (unsigned i = 2; i < 2 + JW_SPARE_ROOTS; i++) {
        roots[i] = root_create(FOR_OTHER_RANGES);
        char *address = granule_address(roots[i]);
        assert_true(roots[i] && page_map_owns(address) && knit_is_root(roots[i]) && sim_is_zero(address, ROOT_SIZE));
        memset(record_at(roots[i]), 1, ROOT_GRANULES * RECORD_SIZE);
        memset(address, 1, ROOT_SIZE);
        for (unsigned other = 0; other < i; other++) assert_int_not_equal(roots[i], roots[other]);
    }
    assert_int_equal(root_create(FOR_OTHER_RANGES), 0);
    sim_fail_after(SIM_NEVER);
    none_left(roots, 2 + JW_SPARE_ROOTS);
}

static void rounds_give_back_what_nobody_wants(void **state) {
    (void)state;
    granule_id roots[3];
    two_roots(roots);
    assert_true(root_round(false));
    roots[2] = root_create(FOR_OTHER_RANGES);
    assert_true(root_round(false));
    assert_int_equal(root_spares(), JW_SPARE_ROOTS - 1);
    assert_false(root_round(false));
    assert_int_equal(root_spares(), 0);
    assert_int_equal(sim_reserved(), tables + 3 * ROOT_SIZE);
    none_left(roots, 3);
}

/* While roots are made, one that goes serves the next request: nothing is mapped or unmapped. */
static void a_root_that_goes_serves_the_next(void **state) {
    (void)state;
    granule_id roots[3];
    two_roots(roots);
    size_t mapped = sim_reserved(), committed = limits_committed();
    granule_id kept = roots[2] = root_create(FOR_OTHER_RANGES);
    assert_true(root_destroy(kept, true) && leaf_same(leaf_get(kept), leaf_none()));
    assert_true(root_count() == 2 && root_spares() == JW_SPARE_ROOTS && sim_reserved() == mapped);
    assert_true(limits_committed() == committed && page_map_owns(granule_address(kept)));
    assert_true(root_destroy(roots[1], true)); /* there are enough */
    assert_true(root_spares() == JW_SPARE_ROOTS && sim_reserved() == mapped - ROOT_SIZE);
    for (unsigned i = 1; i < 3; i++) roots[i] = root_create(FOR_OTHER_RANGES);
    assert_true((roots[1] == kept || roots[2] == kept) && knit_is_root(kept) && leaf_same(leaf_get(kept), leaf_held()));
    none_left(roots, 3);
}

static void check_goes(granule_id root, bool zero) {
    size_t mapped = sim_reserved(), spares = root_spares();
    assert_true(root_destroy(root, zero) && root_spares() == spares && sim_reserved() == mapped - ROOT_SIZE);
}

/* Its memory was written to, or its tables are large, or no root was made for a while, or memory is short. */
static void not_every_root_waits(void **state) {
    (void)state;
    granule_id roots[2];
    two_roots(roots);
    granule_id root = root_create(FOR_OTHER_RANGES);
    check_goes(root, false);
    root = root_create(FOR_SMALL_SLABS);
    assert_true(root_admits_slabs(root));
    check_goes(root, true);
    root = root_create(FOR_OTHER_RANGES);
    assert_false(root_round(false)); /* all spare ones are in use */
    check_goes(root, true);
    root = root_create(FOR_OTHER_RANGES);
    thrift_purge();
    check_goes(root, true);
    root = root_create(FOR_OTHER_RANGES);
    granule_id spare = root_create(FOR_OTHER_RANGES);
    root_end_spares();
    check_goes(spare, true);
    check_goes(root, true);
    root_forget_threads();
    none_left(roots, 2);
}

static void a_walker_keeps_a_root_from_waiting(void **state) {
    (void)state;
    granule_id roots[3];
    two_roots(roots);
    roots[2] = root_create(FOR_OTHER_RANGES);
    assert_true(root_walk_begin() && !root_destroy(roots[2], true));
    assert_true(leaf_same(leaf_get(roots[2]), leaf_held()) && root_count() == 3);
    root_walk_end();
    none_left(roots, 3);
}

static void they_go_first_where_there_is_no_memory(void **state) {
    (void)state;
    granule_id roots[2];
    two_roots(roots);
    uint64_t stamp = thrift_change_stamp();
    sim_fail_only(SIM_RESERVE);
    sim_fail_after(0);
    assert_true(thrift_may_help((2 + JW_SPARE_ROOTS) * ROOT_SIZE));
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    assert_int_equal(thrift_change_stamp(), stamp);
    assert_true(thrift_make_room(ROOT_SIZE));
    assert_int_not_equal(thrift_change_stamp(), stamp);
    assert_int_equal(sim_reserved(), tables + 2 * ROOT_SIZE);
    assert_false(thrift_make_room(ROOT_SIZE));
    assert_true(root_destroy(roots[1], false) && (roots[1] = root_create(FOR_OTHER_RANGES)));
    assert_int_equal(root_spares(), 0); /* and come no more */
    root_forget_threads();
    none_left(roots, 2);
}

static void a_purge_takes_them(void **state) {
    (void)state;
    granule_id roots[2];
    two_roots(roots);
    thrift_purge();
    assert_int_equal(sim_reserved(), tables + 2 * ROOT_SIZE);
    none_left(roots, 2);
}

/* Of all that is asked of the OS, the n-th thing is refused, and all after it. */
static void refusals_leave_one_root_or_none(void **state) {
    (void)state;
    for (unsigned n = 0; n < 8; n++) {
        granule_id roots[2];
        start_backend();
        tables = sim_reserved();
        roots[0] = root_create(FOR_OTHER_RANGES);
        sim_fail_only(SIM_RESERVE | SIM_PROTECT);
        sim_fail_after(n);
        roots[1] = root_create(FOR_OTHER_RANGES);
        sim_fail_after(SIM_NEVER);
        sim_fail_only(SIM_ANY);
        none_left(roots, roots[1] ? 2 : 1);
    }
}

/* Neither unmapped nor made useful for slabs: a root stays free, and the next request maps none. */
static void refused_roots_stay_free(void **state) {
    (void)state;
    granule_id roots[2];
    bool zeroed;
    two_roots(roots);
    size_t mapped = sim_reserved();
    sim_fail_only(SIM_UNMAP | SIM_PROTECT);
    sim_fail_after(0);
    assert_false(root_unmap_spares());
    for (unsigned i = 0; i < 3; i++) assert_int_equal(range_fetch(FOR_SMALL_SLABS, 1, FETCH_WITH_ROOT, &zeroed), 0);
    assert_true(root_count() == 2 && root_spares() == JW_SPARE_ROOTS && sim_reserved() == mapped);
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    thrift_purge();
    assert_int_equal(root_count(), 2);
    none_left(roots, 2);
}

/* `count` slots from `first` on are others' already, inside what is mapped ahead: what lies there is unmapped. */
static void leave_out(char *first, unsigned count, const granule_id roots[2]) {
    granule_id begin = granule_of(first), end = begin + count * ROOT_GRANULES, probe;
    for (unsigned i = 0; i < count; i++) assert_true(page_map_claim(first + i * ROOT_SIZE)); /* mappings elsewhere */
    probe = root_create(FOR_OTHER_RANGES);
    assert_true(probe && (probe < begin || probe >= end));
    assert_int_equal(sim_reserved(), tables + (3 + root_spares()) * ROOT_SIZE);
    for (unsigned i = 0; i <= JW_SPARE_ROOTS; i++) {
        granule_id root = root_spares() > 0 ? root_create(FOR_OTHER_RANGES) : 0;
        assert_true(root < begin || root >= end);
        if (root) assert_true(root_destroy(root, false));
    }
    assert_true(root_destroy(probe, false));
    for (unsigned i = 0; i < count; i++) page_map_unclaim(first + i * ROOT_SIZE);
    assert_true(root_count() == 2 && page_map_owns(granule_address(roots[1])));
}

static void taken_slots_are_left_out(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        granule_id roots[2];
        two_roots(roots);
        thrift_purge();
        char *next = (char *)granule_address(roots[1]) + (1 + JW_SPARE_ROOTS) * ROOT_SIZE; /* the hole is too small */
        leave_out(next + i % 2 * ROOT_SIZE, 1 + i / 2, roots);
        none_left(roots, 2);
    }
}

/* The OS keeps the pages of its words, as where they are locked. */
static void nothing_begins_where_a_root_was(void **state) {
    (void)state;
    granule_id roots[2];
    two_roots(roots);
    assert_true(leaf_same(leaf_get(roots[1]), leaf_held()));
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    assert_true(root_destroy(roots[1], false));
    assert_true(leaf_same(leaf_get(roots[1]), leaf_none()));
    sim_fail_only(SIM_UNMAP);
    assert_false(root_destroy(roots[0], false));
    assert_true(leaf_same(leaf_get(roots[0]), leaf_held()) && page_map_owns(granule_address(roots[0])));
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    none_left(roots, 1);
}

static jmp_buf held_up;

static void hold_up(void) {
    at_reserve = NULL;
    longjmp(held_up, 1);
}

static void a_child_makes_spares_whoever_was_at_it(void **state) {
    (void)state;
    granule_id roots[2];
    two_roots(roots);
    root_unmap_spares();
    at_reserve = hold_up;
    if (setjmp(held_up) == 0) root_create(FOR_OTHER_RANGES); /* another thread is at it */
    assert_true(root_destroy(roots[1], false) && (roots[1] = root_create(FOR_OTHER_RANGES)));
    assert_int_equal(root_spares(), 0);
    root_forget_threads();
    assert_true(root_destroy(roots[1], false) && (roots[1] = root_create(FOR_OTHER_RANGES)));
    assert_int_equal(root_spares(), JW_SPARE_ROOTS);
    none_left(roots, 2);
}

/* The right half of the first root, and the left half's right quarter. */
static void parts_are_closed_and_opened(void **state) {
    (void)state;
    start_backend();
    tables = sim_reserved();
    granule_id left = root_create(FOR_SMALL_SLABS), parts[2] = {knit_split(left, ROOT_GRANULES / 2), 0};
    parts[1] = knit_split(left, ROOT_GRANULES / 4);
    for (unsigned i = 0; i < 2; i++) {
        leaf_set(parts[i], leaf_held());
        assert_true(root_close_part(parts[i]));
    }
    assert_int_equal(sim_reserved(), tables + ROOT_SIZE / 4);
    assert_int_equal(root_open_part(FOR_SMALL_SLABS, ROOT_GRANULES * 3 / 4), 0);
    sim_fail_after(0);
    assert_int_equal(root_open_part(FOR_SMALL_SLABS, 1), 0);
    sim_fail_after(SIM_NEVER);
    granule_id other = root_create(FOR_OTHER_RANGES); /* from now on the first root is for slabs only */
    assert_int_equal(root_open_part(FOR_OTHER_RANGES, 1), 0);
    assert_int_equal(root_open_part(FOR_SMALL_SLABS, 1), parts[1]); /* the smallest that suffices */
    assert_int_equal(root_open_part(FOR_SMALL_SLABS, 1), parts[0]);
    assert_int_equal(root_open_part(FOR_SMALL_SLABS, 1), 0);
    assert_true(sim_is_zero(granule_address(left), ROOT_SIZE));
    for (unsigned i = 0; i < 2; i++) range_place(parts[i], UNMAPPED);
    range_place(left, UNMAPPED);
    none_left(&other, 1);
}

/* A refused part stays as it is. Each closing takes an entry for good; without one a part stays open. */
static void a_part_that_cannot_be_closed_stays(void **state) {
    (void)state;
    start_backend();
    tables = sim_reserved();
    granule_id left = root_create(FOR_SMALL_SLABS), part = knit_split(left, ROOT_GRANULES / 2);
    leaf_set(part, leaf_held());
    sim_fail_only(SIM_UNMAP);
    sim_fail_after(0);
    assert_false(root_close_part(part));
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    assert_int_equal(sim_reserved(), tables + ROOT_SIZE);
    assert_int_equal(root_open_part(FOR_SMALL_SLABS, 1), 0);
    unsigned closed = 0;
    for (; root_close_part(part); closed++) {
        assert_true(closed < CLOSED_PARTS);
        assert_int_equal(sim_reserved(), tables + ROOT_SIZE / 2);
        assert_int_equal(root_open_part(FOR_SMALL_SLABS, 1), part);
    }
    assert_true(closed > 0);
    assert_int_equal(sim_reserved(), tables + ROOT_SIZE);
    range_place(part, UNMAPPED);
    range_place(left, UNMAPPED);
    none_left(NULL, 0);
}

/* A closed part counts as free. While another range is in use, the parts stay closed. */
static void a_purge_opens_the_parts_of_a_free_root(void **state) {
    (void)state;
    start_backend();
    tables = sim_reserved();
    granule_id left = root_create(FOR_SMALL_SLABS), part = knit_split(left, ROOT_GRANULES / 2);
    leaf_set(part, leaf_held());
    assert_true(root_close_part(part));
    free_granules_add(UNMAPPED, (intptr_t)knit_weight(part));
    thrift_purge();
    assert_int_equal(sim_reserved(), tables + ROOT_SIZE / 2);
    assert_int_equal(root_count(), 1);
    range_place(left, UNMAPPED);
    assert_int_equal(free_granules(UNMAPPED), ROOT_GRANULES);
    thrift_purge();
    assert_int_equal(root_count(), 0);
    none_left(NULL, 0);
}

/* Mapped ahead it would have pages that the program does not need. A child of a fork inherits no locks. */
static void nothing_is_mapped_ahead_in_locked_memory(void **state) {
    (void)state;
    granule_id roots[4];
    start_backend();
    tables = sim_reserved();
    roots[0] = root_create(FOR_OTHER_RANGES);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    for (unsigned i = 1; i < 3; i++) {
        roots[i] = root_create(FOR_OTHER_RANGES);
        assert_true(roots[i] && root_spares() == 0 && sim_reserved() == tables + (i + 1) * ROOT_SIZE);
    }
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    root_forget_threads();
    roots[3] = root_create(FOR_OTHER_RANGES);
    assert_int_equal(root_spares(), JW_SPARE_ROOTS);
    none_left(roots, 4);
}

static void walk_in_vain(void) {
    assert_false(root_walk_begin());
    assert_int_equal(sleeps, 0);
    assert_false(root_walk_begin_or_wait());
    assert_int_equal(sleeps, WALK_TRIES);
}

static void a_walk_waits_for_a_root_that_goes(void **state) {
    (void)state;
    granule_id roots[2];
    two_roots(roots);
    sleeps = 0;
    at_give_back = walk_in_vain;
    assert_true(root_destroy(roots[1], false));
    at_give_back = NULL;
    assert_true(root_walk_begin_or_wait() && sleeps == WALK_TRIES);
    assert_false(root_destroy(roots[0], false)); /* a walker is there */
    root_walk_end();
    none_left(roots, 1);
}

/* Parts that are closed belong to a sealed root from then on: none is opened, also where entries are taken in vain. */
static void forget_closed_parts(void) {
    enum { CLOSED = 3 };
    start_backend();
    root_forget_sealed(); /* all entries are free from now on */
    granule_id parts[CLOSED + 1] = {root_create(FOR_SMALL_SLABS)};
    for (unsigned i = 1; i <= CLOSED; i++) {
        parts[i] = knit_split(parts[0], ROOT_GRANULES >> i);
        leaf_set(parts[i], leaf_held());
        CHECK(root_close_part(parts[i]));
    }
    root_forget_sealed();
    CHECK(root_count() == 0 && !root_has_lost_parts() && root_open_part(FOR_SMALL_SLABS, 1) == 0);
    granule_id left = root_create(FOR_SMALL_SLABS), part = knit_split(left, ROOT_GRANULES / 2);
    leaf_set(part, leaf_held());
    CHECK(root_count() == 1);
    sim_fail_only(SIM_UNMAP);
    sim_fail_after(0);
    for (unsigned i = 0; i < CLOSED; i++) CHECK(!root_close_part(part));
    sim_fail_after(SIM_NEVER);
    CHECK(root_open_part(FOR_SMALL_SLABS, 1) == 0);
    CHECK(root_close_part(part) && root_open_part(FOR_SMALL_SLABS, 1) == part);
}

static void a_seal_forgets_closed_parts(void **state) {
    (void)state;
    run_in_child(forget_closed_parts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spares_come_before_the_os_is_asked),
        cmocka_unit_test(rounds_give_back_what_nobody_wants),
        cmocka_unit_test(a_root_that_goes_serves_the_next),
        cmocka_unit_test(not_every_root_waits),
        cmocka_unit_test(a_walker_keeps_a_root_from_waiting),
        cmocka_unit_test(they_go_first_where_there_is_no_memory),
        cmocka_unit_test(a_purge_takes_them),
        cmocka_unit_test(refusals_leave_one_root_or_none),
        cmocka_unit_test(refused_roots_stay_free),
        cmocka_unit_test(taken_slots_are_left_out),
        cmocka_unit_test(nothing_begins_where_a_root_was),
        cmocka_unit_test(a_child_makes_spares_whoever_was_at_it),
        cmocka_unit_test(parts_are_closed_and_opened),
        cmocka_unit_test(a_seal_forgets_closed_parts),
        cmocka_unit_test(a_purge_opens_the_parts_of_a_free_root),
        cmocka_unit_test(a_part_that_cannot_be_closed_stays), /* takes all entries */
        cmocka_unit_test(nothing_is_mapped_ahead_in_locked_memory),
        cmocka_unit_test(a_walk_waits_for_a_root_that_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
