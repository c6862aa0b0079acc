/* thrift_policy_test.c - how long the reclamation thread looks after a quiet process: its numbers in config/policy.h.
 * The other tests of Thrift hold with any policy. */
#include "thrift_world.h"

#include "config/policy.h"

static bool more_to_do(void) {
    return true;
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
    thrift_on_round(ROUND_SLABS, more_to_do, NULL);
    thrift_wake();
    run_thread();
    assert_int_equal(waits, 1 + QUIET_ROUNDS); /* first for threads that may start */
    assert_int_equal(platform_milliseconds(), (options.reclaim_interval >> SUCCESSOR_SHIFT) +
                                                  ((1u << QUIET_ROUNDS) - 1) * options.reclaim_interval);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_double_for_some_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
