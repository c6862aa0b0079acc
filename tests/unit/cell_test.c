/* cell_test.c - a cell holds one value; each value is taken once, also by threads. */
#include <pthread.h>
#include <sched.h>

#include "sync/cell.h"
#include "unit.h"

enum { VALUES = 4000, PUTTERS = 2 };

static struct cell cell;
static uint32_t taken[VALUES + 1];

static void one_value_has_room(void **state) {
    (void)state;
    assert_int_equal(cell_look(&cell), 0);
    assert_int_equal(cell_take(&cell), 0);
    assert_true(cell_put(&cell, 1));
    assert_false(cell_put(&cell, 2));
    assert_int_equal(cell_look(&cell), 1);
    assert_int_equal(cell_take(&cell), 1);
    cell_fill(&cell, 3);
    assert_int_equal(cell_take_own(&cell), 3);
    assert_int_equal(cell_take_own(&cell), 0);
}

static void change_needs_what_was_seen(void **state) {
    (void)state;
    cell_fill(&cell, 4);
    assert_false(cell_change(&cell, 5, 6));
    assert_int_equal(cell_look(&cell), 4);
    assert_true(cell_change(&cell, 4, 6));
    assert_true(cell_change(&cell, 6, 0));
    assert_int_equal(cell_take(&cell), 0);
}

static void *putting(void *first) {
    for (uint32_t value = (uint32_t)(size_t)first; value <= VALUES; value += PUTTERS)
        while (!cell_put(&cell, value)) sched_yield();
    return NULL;
}

static void threads_lose_nothing(void **state) {
    (void)state;
    pthread_t threads[PUTTERS];
    for (size_t i = 0; i < PUTTERS; i++) CHECK(!pthread_create(&threads[i], NULL, putting, (void *)(i + 1)));
    for (uint32_t count = 0, value; count < VALUES;) {
        if ((value = cell_take(&cell))) taken[value]++, count++;
        else sched_yield();
    }
    for (size_t i = 0; i < PUTTERS; i++) CHECK(!pthread_join(threads[i], NULL));
    assert_int_equal(cell_look(&cell), 0);
    for (uint32_t value = 1; value <= VALUES; value++) assert_int_equal(taken[value], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_value_has_room),
                                       cmocka_unit_test(change_needs_what_was_seen),
                                       cmocka_unit_test(threads_lose_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
