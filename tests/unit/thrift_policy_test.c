/* thrift_policy_test.c - how long the reclamation thread looks after a quiet process: its numbers in config/policy.h.
 * The other tests of Thrift hold with any policy. */
#include "thrift_world.h"

#include "config/policy.h"

static wide_bool more_to_do(wide_bool now) {
    return !now;
}

/* Each wait is twice as long as the one before. */
static void waits_double_for_some_rounds(void **state) {
    (void)state;
    start();
    backend_place(a);
    backend_place(b);
    thrift_purge();
    reclaimer_forget();
    assert_non_null(sim_take_thread());
    thrift_on_round(ROUND_SLABS, more_to_do);
    thrift_wake();
    run_thread();
    assert_int_equal(waits, 1 + QUIET_ROUNDS); /* first for threads that may start */
    assert_int_equal(platform_milliseconds(), (options.reclaim_interval >> SUCCESSOR_SHIFT) +
                                                  ((1u << QUIET_ROUNDS) - 1) * options.reclaim_interval);
    finish();
}

static void freeing_threads_run_rounds_four_times_as_often(void **state) {
    (void)state;
    uint32_t quarter = (uint32_t)options.reclaim_interval / 4;
    start();
    options.reclaim_thread = THREAD_FALSE;
    sim_advance(quarter);
    for (unsigned rounds = 0; rounds < 3; rounds++) {
        thrift_wake();
        assert_null(sim_take_thread());
        thrift_take_turn();
        assert_int_equal(thrift_counters.rounds, rounds + 1);
        thrift_wake();
        sim_advance(quarter - 1);
        thrift_take_turn();
        assert_int_equal(thrift_counters.rounds, rounds + 1);
        sim_advance(1);
    }
    backend_place(a);
    backend_place(b);
    finish();
}

enum { LOOKS = 40 };

static uint64_t ends[LOOKS + 1]; /* when each wait ends */

/* A program uses `a` again in each wait, LOOKS times. */
static void use_again(unsigned number) {
    if (number > LOOKS) return;
    ends[number] = platform_milliseconds();
    CHECK(is_dirty(a));
    a = fetch(BIG);
    CHECK(!reclaimer_take_wakeup());
    backend_place(a);
    if (number < LOOKS) return;
    CHECK(!reclaimer_take_wakeup());
    backend_place(b); /* this is much for a long wait, but it ends by itself */
    CHECK(reclaimer_take_wakeup());
}

/* Less than twice `reclaim_start`. A program that then leaves them alone loses them after two waits. */
static void memory_used_again_and_again_is_looked_at_ever_more_rarely(void **state) {
    (void)state;
    uint64_t longest = (uint64_t)1 << PATIENT_ROUNDS;
    start();
    options.reclaim_start = BIG * GRANULE_SIZE / 4 * 3;
    backend_place(a);
    thrift_set_rounds_again(0);
    at_wait = use_again;
    run_thread();
    for (unsigned i = 3; i <= LOOKS; i++) {
        uint64_t intervals = (ends[i] - ends[i - 1]) / options.reclaim_interval;
        assert_int_equal(intervals, i - 3 < PATIENT_ROUNDS ? (uint64_t)1 << (i - 3) : longest);
    }
    assert_false(is_dirty(a) || is_dirty(b));
    assert_true(waits <= LOOKS + 4);
    thrift_set_rounds_again(0);
    finish();
}

void __real_reclaimer_announce_wait(unsigned quiet);
void __wrap_reclaimer_announce_wait(unsigned quiet);

enum { LAST_USE = 20 };

static bool comes_late; /* `b` becomes free after the look at what waits, before that wait is announced */

void __wrap_reclaimer_announce_wait(unsigned quiet) {
    bool now = comes_late && quiet > 0 && waits == LAST_USE - 1;
    comes_late &= !now;
    if (now) backend_place(b);
    __real_reclaimer_announce_wait(quiet);
}

static void use_until_last(unsigned number) {
    if (number <= LAST_USE + 1) ends[number] = platform_milliseconds();
    if (number >= LAST_USE) return;
    a = fetch(BIG);
    backend_place(a);
}

/* Such a free finds the thread awake, and wakes nobody. */
static void work_before_the_announcement_ends_a_long_wait(void **state) {
    (void)state;
    start();
    options.reclaim_start = BIG * GRANULE_SIZE / 4 * 3;
    backend_place(a);
    thrift_set_rounds_again(0);
    comes_late = true;
    at_wait = use_until_last;
    run_thread();
    assert_int_equal((ends[LAST_USE] - ends[LAST_USE - 1]) / options.reclaim_interval, 1u << PATIENT_ROUNDS);
    assert_int_equal(ends[LAST_USE + 1] - ends[LAST_USE], options.reclaim_interval);
    assert_false(is_dirty(a) || is_dirty(b));
    thrift_set_rounds_again(0);
    finish();
}

/* BIG is a quarter of what may wait for two intervals, and half of what may for four. */
static void a_wait_begins_with_less_than_half_of_what_may_wait(void **state) {
    (void)state;
    start();
    options.reclaim_start = BIG * GRANULE_SIZE >> (PATIENCE - 3);
    backend_place(a);
    thrift_set_rounds_again(0);
    at_wait = use_until_last;
    run_thread();
    assert_int_equal((ends[LAST_USE] - ends[LAST_USE - 1]) / options.reclaim_interval, 2);
    thrift_set_rounds_again(0);
    backend_place(b);
    finish();
}

static unsigned for_little; /* rounds after which work that is little was asked for in each wait */

static void ask_for_little(unsigned number) {
    ends[number] = platform_milliseconds();
    if (number > LAST_USE) return;
    thrift_wake_for(2 * BIG - 1);
    for_little += !reclaimer_take_wakeup();
    if (number < LAST_USE) return;
    thrift_wake_for(2 * BIG);
    CHECK(reclaimer_take_wakeup());
}

/* Work that waits in no Nest: the rounds find that it was asked for, and wait ever longer. */
static void little_work_that_is_asked_for_ends_no_long_wait(void **state) {
    (void)state;
    start();
    options.reclaim_start = BIG * GRANULE_SIZE;
    backend_place(a);
    backend_place(b);
    thrift_set_rounds_again(0);
    for_little = 0;
    at_wait = ask_for_little;
    run_thread();
    assert_int_equal(for_little, LAST_USE);
    assert_int_equal((ends[LAST_USE] - ends[LAST_USE - 1]) / options.reclaim_interval, 1u << PATIENT_ROUNDS);
    thrift_set_rounds_again(0);
    finish();
}

enum { SLEEPS = 6 };

static unsigned sleeps;
static uint64_t awake_from, longest_round;

/* A program works a little whenever the thread sleeps without limit. */
static void work_while_it_sleeps(unsigned number) {
    (void)number;
    if (!reclaimer_sleeps() || reclaimer_patience()) return;
    longest_round = platform_milliseconds() - awake_from;
    awake_from = platform_milliseconds();
    thrift_wake();
    if (++sleeps == SLEEPS) reclaimer_pause_begins();
}

/* Rounds of such a program leave nothing, but it uses the same memory again. */
static void sleeps_that_work_ends_make_the_next_round_wait_longer(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_AUTO;
    reclaimer_forget();
    thrift_set_rounds_again(0);
    sleeps = 0;
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    at_wait = work_while_it_sleeps;
    run_thread();
    assert_true(longest_round >= (1u << (SLEEPS - 2)) * options.reclaim_interval);
    thrift_set_rounds_again(0);
    reclaimer_forget();
    backend_place(a);
    backend_place(b);
    finish();
}

/* While nothing changes, the first purge that the OS refuses is followed by one of VAIN_PERIOD. */
static void few_purges_are_tried_in_vain(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_FALSE;
    backend_place(a);
    backend_place(b);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    for (unsigned calls = 0; calls < 3 * VAIN_PERIOD; calls++) {
        uint64_t refused = sim_refused();
        assert_true(thrift_make_room(ROOT_SIZE));
        assert_int_equal(sim_refused() > refused, calls % VAIN_PERIOD == 0);
    }
    give_back_take_refusal();
    sim_fail_only(SIM_ANY);
    finish();
}

static unsigned steps; /* of rounds and purges */
static bool outside;   /* of what is marked as work */

static void count_step(void) {
    steps++;
    outside |= !reclaimer_is_at_work();
}

static wide_bool step(wide_bool now) {
    (void)now;
    count_step();
    return false;
}

granule_id __real_root_open_part(enum root_use use, uint32_t weight);
granule_id __wrap_root_open_part(enum root_use use, uint32_t weight);
granule_id __wrap_root_open_part(enum root_use use, uint32_t weight) {
    count_step();
    return __real_root_open_part(use, weight);
}

unsigned __real_ownership_swap_buffers(void);
unsigned __wrap_ownership_swap_buffers(void);
unsigned __wrap_ownership_swap_buffers(void) {
    count_step();
    return __real_ownership_swap_buffers();
}

/* Who waits until memory has gone back (thrift_trim) waits for the work that is marked. */
static void each_step_is_marked_as_work(void **state) {
    (void)state;
    start();
    granule_id more = fetch(ROOT_GRANULES);
    thrift_on_round(ROUND_SLABS, step);
    backend_place(a);
    for (unsigned purge = 0; purge < 2; purge++) {
        steps = 0;
        outside = false;
        if (purge) thrift_purge();
        else {
            thrift_wake();
            run_thread();
        }
        assert_true(steps >= 2 + purge);
        assert_false(outside);
        assert_false(reclaimer_is_at_work());
        backend_place(purge ? more : b);
    }
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_double_for_some_rounds),
        cmocka_unit_test(freeing_threads_run_rounds_four_times_as_often),
        cmocka_unit_test(memory_used_again_and_again_is_looked_at_ever_more_rarely),
        cmocka_unit_test(work_before_the_announcement_ends_a_long_wait),
        cmocka_unit_test(a_wait_begins_with_less_than_half_of_what_may_wait),
        cmocka_unit_test(little_work_that_is_asked_for_ends_no_long_wait),
        cmocka_unit_test(sleeps_that_work_ends_make_the_next_round_wait_longer),
        cmocka_unit_test(few_purges_are_tried_in_vain),
        cmocka_unit_test(each_step_is_marked_as_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
