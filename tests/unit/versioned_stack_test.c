/* versioned_stack_test.c - each element has one holder at a time, and a pop never takes an old word for the present. */
#include <pthread.h>

#include "sync/versioned_stack.h"
#include "unit.h"

enum { ELEMENTS = 4, THREADS = 2, TURNS = 4000 };

static struct versioned_stack stack;
static _Atomic(uint32_t) links[ELEMENTS + 1];
static _Atomic(uint32_t) held[ELEMENTS + 1];

static uint32_t next(uint32_t id) {
    return atomic_load_explicit(&links[id], memory_order_relaxed);
}

static void set_next(uint32_t id, uint32_t following) {
    atomic_store_explicit(&links[id], following, memory_order_relaxed);
}

static void newest_comes_first_and_each_pop_counts(void **state) {
    (void)state;
    assert_int_equal(versioned_stack_pop(&stack, next), 0);
    for (uint32_t id = 1; id <= 3; id++) versioned_stack_push(&stack, id, set_next);
    for (uint32_t id = 3; id > 0; id--) assert_int_equal(versioned_stack_pop(&stack, next), id);
    assert_int_equal(versioned_stack_pop(&stack, next), 0);
    assert_int_equal(stack.word >> 32, 3);
}

static void *turning(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < TURNS; i++) {
        uint32_t first = versioned_stack_pop(&stack, next), second = versioned_stack_pop(&stack, next);
        CHECK(!first || !atomic_exchange_explicit(&held[first], true, memory_order_relaxed));
        CHECK(!second || !atomic_exchange_explicit(&held[second], true, memory_order_relaxed));
        atomic_store_explicit(&held[first], false, memory_order_relaxed);
        if (first) versioned_stack_push(&stack, first, set_next);
        atomic_store_explicit(&held[second], false, memory_order_relaxed);
        if (second) versioned_stack_push(&stack, second, set_next);
    }
    return NULL;
}

static void threads_never_share_an_element(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (uint32_t id = 1; id <= ELEMENTS; id++) versioned_stack_push(&stack, id, set_next);
    for (size_t i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, turning, NULL));
    for (size_t i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
    uint32_t sum = 0, count = 0;
    for (uint32_t id; (id = versioned_stack_pop(&stack, next)); count++) sum += id;
    assert_true(count == ELEMENTS && sum == ELEMENTS * (ELEMENTS + 1) / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(newest_comes_first_and_each_pop_counts),
                                       cmocka_unit_test(threads_never_share_an_element)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
