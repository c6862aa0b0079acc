/* id_stack_test.c - what is pushed is taken once, newest first; and by threads that push and take at the same time. */
#include <pthread.h>

#include "sync/id_stack.h"
#include "unit.h"

enum { ELEMENTS = 4000, PUSHERS = 2 };

static struct id_stack stack;
static uint32_t next_of[ELEMENTS + 1], taken[ELEMENTS + 1];

static void set_next(uint32_t id, uint32_t next) {
    next_of[id] = next;
}

static uint32_t take(void) {
    uint32_t count = 0;
    for (uint32_t id = id_stack_take_all(&stack); id; id = next_of[id], count++) taken[id]++;
    return count;
}

static void newest_comes_first(void **state) {
    (void)state;
    assert_true(id_stack_is_empty(&stack));
    assert_int_equal(id_stack_take_all(&stack), 0);
    for (uint32_t id = 1; id <= 3; id++) id_stack_push(&stack, id, set_next);
    assert_false(id_stack_is_empty(&stack));
    assert_false(id_stack_last_look_is_empty(&stack));
    uint32_t id = id_stack_take_all(&stack);
    for (uint32_t expected = 3; expected > 0; expected--, id = next_of[id]) assert_int_equal(id, expected);
    assert_int_equal(id, 0);
    assert_true(id_stack_is_empty(&stack) && id_stack_last_look_is_empty(&stack));
}

static void *pushing(void *first) {
    for (uint32_t id = (uint32_t)(size_t)first; id <= ELEMENTS; id += PUSHERS) id_stack_push(&stack, id, set_next);
    return NULL;
}

static void threads_lose_nothing(void **state) {
    (void)state;
    pthread_t threads[PUSHERS];
    for (size_t i = 0; i < PUSHERS; i++) CHECK(!pthread_create(&threads[i], NULL, pushing, (void *)(i + 1)));
    for (uint32_t count = 0; count < ELEMENTS;) count += take();
    for (size_t i = 0; i < PUSHERS; i++) CHECK(!pthread_join(threads[i], NULL));
    assert_true(id_stack_is_empty(&stack));
    for (uint32_t id = 1; id <= ELEMENTS; id++) assert_int_equal(taken[id], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(newest_comes_first), cmocka_unit_test(threads_lose_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
