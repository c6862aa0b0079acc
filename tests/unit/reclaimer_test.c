/* reclaimer_test.c - when there is a reclamation thread, over simulated time. The test runs it. */
#include "thrift_world.h"

#include "backend/reclaimer.h"

/* As reclaimer_pause, whose wait only another thread could end. */
static void reclaimer_pause_begins(void) {
    atomic_fetch_add(&reclaimer->pauses, 1);
}

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_threads_it_starts_and_sleeps),
        cmocka_unit_test(a_pause_ends_the_thread),
        cmocka_unit_test(unconfined_no_thread),
        cmocka_unit_test(none_in_borrowed_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
