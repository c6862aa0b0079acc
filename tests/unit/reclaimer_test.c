/* reclaimer_test.c - when there is a reclamation thread, over simulated time. The test runs it. */
#include "thrift_world.h"

#include "backend/reclaimer.h"
#include "config/policy.h"

static void pause_in_the_first_wait(unsigned number) {
    if (number == 1) reclaimer_pause_begins();
}

/* auto: what is freed starts no thread, a thread of the program's does; it sleeps where it would else end, and goes on
 * when there is work. */
static void free_a_while_it_sleeps(unsigned number) {
    if (number == 2) backend_place(a);
    else if (number == 4) CHECK(!is_dirty(a));
    else if (number > 4) reclaimer_pause_begins();
}

static void with_threads_it_starts_and_sleeps(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_AUTO;
    backend_place(b);
    assert_null(sim_take_thread());
    assert_false(reclaimer_lives());
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(false);
    assert_null(sim_take_thread()); /* none could be made */
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    assert_true(reclaimer_lives());
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    at_wait = free_a_while_it_sleeps;
    run_thread();
    assert_null(sim_take_thread());
    assert_false(is_dirty(a) || is_dirty(b));
    assert_false(reclaimer_lives());
    reclaimer_forget();
    finish();
}

/* In a fork's child no word of the parent's is left. */
static void nothing_of_a_parent_is_left(void **state) {
    (void)state;
    memset(reclaimer, 0xff, sizeof *reclaimer);
    reclaimer_forget();
    assert_true(NO_THREAD == 0 && bytes_are_zero(reclaimer, sizeof *reclaimer));
}

static unsigned asked_asleep;

static void ask_while_it_sleeps(unsigned number) {
    (void)number;
    if (!reclaimer_sleeps()) return;
    CHECK(!reclaimer_take_wakeup());
    thrift_wake();
    CHECK(reclaimer_take_wakeup() && reclaimer_is_asked());
    asked_asleep++;
    reclaimer_pause_begins();
}

/* Work that is no memory to give back, such as a thread's end. */
static void who_asks_for_a_round_wakes_the_thread(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_AUTO;
    asked_asleep = 0;
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    at_wait = ask_while_it_sleeps;
    run_thread();
    assert_int_equal(asked_asleep, 1);
    reclaimer_forget();
    backend_place(a);
    backend_place(b);
    finish();
}

/* The thread ends at the pause, starts at the last resume, and not in between. */
static void a_pause_ends_the_thread(void **state) {
    (void)state;
    start();
    backend_place(a);
    at_wait = pause_in_the_first_wait;
    run_thread();
    assert_int_equal(waits, 1);
    assert_true(is_dirty(a));
    assert_false(reclaimer_lives());
    reclaimer_forget();
    reclaimer_pause(); /* two, of which one is nobody's to resume */
    reclaimer_pause();
    backend_place(b);
    assert_null(sim_take_thread());
    reclaimer_resume();
    thrift_notice();
    assert_null(sim_take_thread());
    reclaimer_resume();
    assert_non_null(sim_take_thread());
    reclaimer_resume(); /* one too many */
    reclaimer_pause_begins();
    assert_true(reclaimer_must_end());
    reclaimer_forget();
    finish();
}

static void begin_thread(void) {
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
}

/* Another thread waits for the end of ours, which runs now. */
static void run_to_its_end(unsigned number) {
    (void)number;
    run_thread();
}

/* A thread that frees `a` and ends. */
static void free_a_in_a_thread(void) {
    begin_thread();
    assert_true(reclaimer_lives());
    backend_place(a);
    reclaimer_thread_ends();
    assert_false(reclaimer_lives());
    assert_false(reclaimer_take_wakeup()); /* it would end the next thread's first wait at once */
}

static void with_short_threads(void) {
    start();
    options.reclaim_thread = THREAD_AUTO;
    options.cache_min = GRANULE_SIZE;
    at_wait = run_to_its_end;
    sim_advance(1); /* a time of 0 is none */
    free_a_in_a_thread();
    assert_false(is_dirty(a));
    for (unsigned i = 0; i < BRIEF_STOPS_MOST; i++) {
        a = fetch(BIG);
        free_a_in_a_thread();
        assert_true(is_dirty(a));
    }
}

/* Where threads come and go, the first end gives back, and later ones leave it to the next thread. At last ours does
 * not start beside a lone thread, but beside two. */
static void brief_stops_keep_memory_and_start_less(void **state) {
    (void)state;
    with_short_threads();
    begin_thread();
    assert_false(reclaimer_lives());
    begin_thread();
    assert_true(reclaimer_lives());
    reclaimer_thread_ends();
    assert_true(reclaimer_lives());
    reclaimer_thread_ends();
    assert_false(reclaimer_lives());
    backend_place(b);
    reclaimer_forget();
    finish();
}

static void begin_another_meanwhile(unsigned number) {
    if (number == 1) begin_thread();
    run_thread();
}

/* The last other thread ends. One that begins while ours stops cannot start it, but has it all the same. */
static void a_thread_that_begins_during_the_stop_has_ours(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_AUTO;
    begin_thread();
    at_wait = begin_another_meanwhile;
    reclaimer_thread_ends();
    assert_true(reclaimer_lives());
    assert_int_equal(waits, 1);
    reclaimer_thread_ends();
    assert_false(reclaimer_lives());
    reclaimer_forget();
    backend_place(a);
    backend_place(b);
    finish();
}

/* Our thread stops at a pause, however soon after the last one, although other threads live. */
static void pauses_are_no_brief_stops(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_AUTO;
    at_wait = run_to_its_end;
    sim_advance(1);
    begin_thread();
    for (unsigned i = 0; i <= BRIEF_STOPS_MOST; i++) {
        assert_true(reclaimer_lives());
        reclaimer_pause();
        assert_false(reclaimer_lives() || reclaimer_stopped_briefly());
        reclaimer_resume();
    }
    reclaimer_pause();
    reclaimer_forget();
    backend_place(a);
    backend_place(b);
    finish();
}

static void after_an_interval_all_is_as_before(void **state) {
    (void)state;
    with_short_threads();
    sim_advance((uint32_t)options.reclaim_interval);
    a = fetch(BIG);
    free_a_in_a_thread();
    assert_false(is_dirty(a));
    backend_place(b);
    reclaimer_forget();
    finish();
}

/* What is deferred when the thread stops is placed, and goes back with the rest. */
static void a_stop_gives_deferred_ranges_back(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_AUTO;
    options.cache_min = GRANULE_SIZE;
    at_wait = run_to_its_end;
    begin_thread();
    leaf_set(a, leaf_deferred(false, true));
    free_granules_add(MAPPED, BIG);
    id_stack_push(&ownership.deferred, a, range_set_next);
    reclaimer_thread_ends();
    assert_true(free_granules(MAPPED) <= 1);
    assert_false(is_dirty(a));
    backend_place(b);
    reclaimer_forget();
    finish();
}

/* `cache_percent:0` and the soft limit hold after a brief stop, too. */
static void options_bound_what_is_kept(void **state) {
    (void)state;
    with_short_threads();
    assert_true(watermark_without_thread() > 1);
    options.cache_percent = 0;
    assert_int_equal(watermark_without_thread(), 1);
    options.cache_percent = 50;
    options.limit_soft = 1;
    assert_int_equal(watermark_without_thread(), 0);
    options.limit_soft = 0;
    backend_place(b);
    reclaimer_forget();
    finish();
}

static void unconfined_no_thread(void **state) {
    (void)state;
    start();
    backend_place(a);
    sim_fail_only(SIM_CONFINE);
    sim_fail_after(0);
    run_thread();
    sim_fail_after(SIM_NEVER);
    assert_int_equal(waits, 0);
    assert_false(reclaimer_lives());
    backend_place(b);
    reclaimer_forget();
    finish();
}

/* A child by vfork starts no thread, and leaves the parent as it was. */
static void none_in_borrowed_memory(void **state) {
    (void)state;
    start();
    sim_borrow_memory(true);
    backend_place(a);
    assert_null(sim_take_thread());
    sim_borrow_memory(false);
    backend_place(b);
    assert_non_null(sim_take_thread());
    reclaimer_forget();
    finish();
}

/* A round of another thread has a while it works, and leaves it in a Nest. */
static void end_the_round_in_the_third_wait(unsigned number) {
    if (number != 3) return;
    backend_place(a);
    reclaimer_end_work();
}

static void a_trim_waits_for_a_round(void **state) {
    (void)state;
    start();
    reclaimer_begin_work();
    at_wait = end_the_round_in_the_third_wait;
    assert_int_equal(thrift_trim(), BIG * GRANULE_SIZE);
    assert_int_equal(waits, 3);
    assert_false(is_dirty(a));
    backend_place(b);
    finish();
}

static void a_trim_waits_no_longer_for_a_stopped_thread(void **state) {
    (void)state;
    start();
    reclaimer_begin_work();
    backend_place(a);
    assert_int_equal(thrift_trim(), BIG * GRANULE_SIZE);
    assert_int_equal(waits, TRIM_WAIT);
    reclaimer_end_work();
    backend_place(b);
    assert_int_equal(thrift_trim(), BIG * GRANULE_SIZE);
    assert_int_equal(waits, TRIM_WAIT);
    finish();
}

static unsigned works_seen;

static wide_bool look_whether_a_round_counts(wide_bool now) {
    (void)now;
    works_seen += reclaimer_is_at_work();
    return false;
}

static void no_work_while_a_round_waits(unsigned number) {
    if (number == 1 && !reclaimer_is_at_work()) reclaimer_pause_begins();
}

static void each_round_counts_as_work(void **state) {
    (void)state;
    start();
    thrift_on_round(ROUND_RANGES, look_whether_a_round_counts);
    works_seen = 0;
    thrift_purge();
    assert_int_equal(works_seen, 1);
    backend_place(a);
    at_wait = no_work_while_a_round_waits; /* else the pause does not come, and the thread goes on */
    run_thread();
    assert_int_equal(works_seen, 2);
    at_wait = NULL;
    thrift_on_round(ROUND_RANGES, NULL);
    reclaimer_resume();
    uint32_t over = reclaimer_works_over();
    reclaimer_forget(); /* as a child whose thread was in a purge when its signal handler forked */
    reclaimer_end_work();
    assert_true(over >= 2 && !reclaimer_is_at_work() && reclaimer_works_over() == 0);
    backend_place(b);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_threads_it_starts_and_sleeps),
        cmocka_unit_test(nothing_of_a_parent_is_left),
        cmocka_unit_test(who_asks_for_a_round_wakes_the_thread),
        cmocka_unit_test(a_pause_ends_the_thread),
        cmocka_unit_test(brief_stops_keep_memory_and_start_less),
        cmocka_unit_test(a_thread_that_begins_during_the_stop_has_ours),
        cmocka_unit_test(pauses_are_no_brief_stops),
        cmocka_unit_test(after_an_interval_all_is_as_before),
        cmocka_unit_test(a_stop_gives_deferred_ranges_back),
        cmocka_unit_test(options_bound_what_is_kept),
        cmocka_unit_test(unconfined_no_thread),
        cmocka_unit_test(none_in_borrowed_memory),
        cmocka_unit_test(a_trim_waits_for_a_round),
        cmocka_unit_test(a_trim_waits_no_longer_for_a_stopped_thread),
        cmocka_unit_test(each_round_counts_as_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
