/* sim_test.c - the simulated platform keeps the contract that the other tests lean on: aligned, zero, all of it given
 * again, and refusing exactly when told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "check.h"
#include "platform/platform.h"
#include "platform/sim.h"

enum { BIG = JW_SIM_ALIGNMENT, BIGS = JW_SIM_ARENA / JW_SIM_ALIGNMENT };

static void the_whole_arena_is_given_and_given_again(void **state) {
    (void)state;
    sim_reset();
    void *blocks[BIGS];
    for (unsigned i = 0; i < BIGS; i++) {
        blocks[i] = platform_reserve(BIG, BIG, "");
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % BIG, 0);
    }
    assert_null(platform_reserve(JW_SIM_PAGE, JW_SIM_PAGE, ""));
    for (unsigned i = 0; i < BIGS; i += 2) assert_true(platform_unmap(blocks[i], BIG));
    for (unsigned i = 1; i < BIGS; i += 2) assert_true(platform_unmap(blocks[i], BIG));
    assert_int_equal(sim_reserved(), 0);
    assert_non_null(platform_reserve(JW_SIM_ARENA, JW_SIM_PAGE, ""));
}

static void memory_comes_back_zero(void **state) {
    (void)state;
    sim_reset();
    char *block = platform_reserve(4 * JW_SIM_PAGE, JW_SIM_PAGE, "");
    memset(block, 1, 4 * JW_SIM_PAGE);
    assert_true(platform_discard(block + 1, 3 * JW_SIM_PAGE)); /* the first page and the last are only partly inside */
    assert_int_equal(block[JW_SIM_PAGE - 1], 1);
    assert_true(sim_is_zero(block + JW_SIM_PAGE, 2 * JW_SIM_PAGE));
    assert_int_equal(block[3 * JW_SIM_PAGE], 1);
    assert_true(platform_unmap(block, 4 * JW_SIM_PAGE));
    char *again = platform_reserve(4 * JW_SIM_PAGE, JW_SIM_PAGE, "");
    assert_true(sim_is_zero(again, 4 * JW_SIM_PAGE));
}

static void refusals_begin_when_told(void **state) {
    (void)state;
    sim_reset();
    sim_fail_after(2);
    void *first = platform_reserve(JW_SIM_PAGE, JW_SIM_PAGE, "");
    assert_non_null(first);
    assert_true(platform_discard(first, JW_SIM_PAGE));
    assert_false(platform_unmap(first, JW_SIM_PAGE));
    assert_null(platform_reserve(JW_SIM_PAGE, JW_SIM_PAGE, ""));
    sim_fail_only(SIM_DISCARD);
    assert_true(platform_unmap(first, JW_SIM_PAGE));
    uint64_t refused = sim_refused();
    assert_false(platform_discard(first, JW_SIM_PAGE));
    assert_int_equal(sim_refused(), refused + 1);
    sim_fail_after(SIM_NEVER);
    assert_true(platform_discard(first, JW_SIM_PAGE));
}

static void time_passes_only_when_waited_for(void **state) {
    (void)state;
    sim_reset();
    static _Atomic(uint32_t) word;
    assert_int_equal(platform_milliseconds(), 0);
    platform_futex_wait(&word, 0, 500);
    assert_int_equal(platform_milliseconds(), 500);
    platform_futex_wait(&word, 1, 500); /* holds something else already */
    assert_int_equal(platform_milliseconds(), 500);
}

static void *churn(void *number) {
    uint64_t random = (uintptr_t)number;
    struct {
        unsigned char *at;
        size_t size;
    } blocks[8] = {{NULL, 0}};
    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = (unsigned)random_below(&random, 8);
        if (blocks[i].at != NULL) {
            for (size_t k = 0; k < blocks[i].size; k += 512) CHECK(blocks[i].at[k] == (uintptr_t)number);
            CHECK(platform_unmap(blocks[i].at, blocks[i].size));
            blocks[i].at = NULL;
            continue;
        }
        size_t alignment = (size_t)JW_SIM_PAGE << random_below(&random, 8);
        blocks[i].size = JW_SIM_PAGE * (1 + (size_t)random_below(&random, 64));
        blocks[i].at = platform_reserve(blocks[i].size, alignment, "");
        if (blocks[i].at == NULL) continue;
        CHECK((uintptr_t)blocks[i].at % alignment == 0);
        for (size_t k = 0; k < blocks[i].size; k += 512) CHECK(blocks[i].at[k] == 0);
        memset(blocks[i].at, (int)(uintptr_t)number, blocks[i].size);
    }
    for (unsigned i = 0; i < 8; i++)
        if (blocks[i].at != NULL) CHECK(platform_unmap(blocks[i].at, blocks[i].size));
    return NULL;
}

static void threads_do_not_share_pages(void **state) {
    (void)state;
    sim_reset();
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (unsigned i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_int_equal(sim_reserved(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_arena_is_given_and_given_again),
        cmocka_unit_test(memory_comes_back_zero),
        cmocka_unit_test(refusals_begin_when_told),
        cmocka_unit_test(time_passes_only_when_waited_for),
        cmocka_unit_test(threads_do_not_share_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
