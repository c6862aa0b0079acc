/* give_run_test.c - which granules' pages go back by one call of the OS, and what is told of each. */
#include "unit.h"

#include "backend/give_run.h"
#include "config/policy.h"

wide_bool __wrap_platform_discard(void *start, size_t size);

static unsigned calls, refusals; /* refusals: so many calls more are refused */
static unsigned given, kept;
static granule_id roots[2];

wide_bool __wrap_platform_discard(void *start, size_t size) {
    CHECK(start && size > 0);
    calls++;
    if (refusals == 0) return true;
    refusals--;
    return false;
}

static void end_of(granule_id granule, bool gone) {
    CHECK(root_of(granule) == roots[0] || root_of(granule) == roots[1]);
    given += gone;
    kept += !gone;
}

/* Two roots side by side, which nobody has mapped: nothing is done to their pages. */
static void start(struct give_run *run) {
    char *address = (char *)(2 * ROOT_SIZE);
    start_backend();
    for (unsigned i = 0; i < 2; i++) {
        assert_true(page_map_claim(address + i * ROOT_SIZE));
        roots[i] = granule_of(address + i * ROOT_SIZE);
    }
    calls = refusals = given = kept = 0;
    give_run_begin(run, end_of);
}

static void finish(void) {
    for (unsigned i = 0; i < 2; i++) page_map_unclaim(granule_address(roots[i]));
}

/* Adds `count` granules from `first` on, upwards or downwards. */
static void add(struct give_run *run, granule_id first, unsigned count, int step) {
    for (unsigned i = 0; i < count; i++) give_run_add(run, first + (granule_id)((int)i * step));
}

static void neighbours_go_together_in_either_direction(void **state) {
    (void)state;
    struct give_run run;
    start(&run);
    add(&run, roots[0] + 8, 5, 1);
    give_run_end(&run);
    assert_true(calls == 1 && given == 5);
    add(&run, roots[0] + 8, 5, -1);
    add(&run, roots[0] + 20, 2, 1);
    give_run_end(&run);
    assert_true(calls == 3 && given == 12 && kept == 0);
    finish();
}

/* Each call of the OS is short, and is about one root: they are mapped and unmapped one by one. */
static void runs_end_at_the_root_and_at_a_number(void **state) {
    (void)state;
    struct give_run run;
    start(&run);
    add(&run, roots[1] - 3, 6, 1);
    give_run_end(&run);
    assert_true(calls == 2 && given == 6);
    add(&run, roots[1] + 2, 6, -1);
    give_run_end(&run);
    assert_true(calls == 4 && given == 12);
    add(&run, roots[1], GIVE_MOST_GRANULES, 1);
    give_run_end(&run);
    assert_int_equal(calls, 5);
    add(&run, roots[1], GIVE_MOST_GRANULES + 1, 1);
    give_run_end(&run);
    assert_int_equal(calls, 7);
    give_run_end(&run); /* nothing is left */
    assert_int_equal(calls, 7);
    finish();
}

/* Whatever the memory of the run had before. */
static void a_run_begins_empty_and_not_refused(void **state) {
    (void)state;
    struct give_run run;
    memset(&run, 1, sizeof run);
    start(&run);
    assert_true(run.count == 0 && run.first == 0 && run.end == end_of);
    assert_false(run.refused);
    finish();
}

/* The caller looks once, after many runs. */
static void a_refusal_is_remembered(void **state) {
    (void)state;
    struct give_run run;
    start(&run);
    refusals = 1;
    add(&run, roots[0], 2, 1);
    add(&run, roots[0] + 8, 3, 1);
    give_run_end(&run);
    assert_true(calls == 2 && kept == 2 && given == 3);
    assert_true(run.refused);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_begins_empty_and_not_refused),
        cmocka_unit_test(neighbours_go_together_in_either_direction),
        cmocka_unit_test(runs_end_at_the_root_and_at_a_number),
        cmocka_unit_test(a_refusal_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
