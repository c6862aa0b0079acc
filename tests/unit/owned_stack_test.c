/* owned_stack_test.c - the owner pops what it pushed last; what another thread takes is gone for it. */
#include <pthread.h>

#include "sync/owned_stack.h"
#include "unit.h"

enum { ELEMENTS = 4000 };

static struct owned_stack stack;
static uint32_t next_of[ELEMENTS + 1], had[ELEMENTS + 1];
static _Atomic(bool) done;

static uint32_t next(uint32_t id) {
    return next_of[id];
}

static void set_next(uint32_t id, uint32_t following) {
    next_of[id] = following;
}

static void take(void) {
    for (uint32_t id = owned_stack_take_all(&stack); id; id = next_of[id]) had[id]++;
}

static void the_owner_pops_the_last_one(void **state) {
    (void)state;
    assert_true(owned_stack_is_empty(&stack));
    assert_int_equal(owned_stack_pop(&stack, next), 0);
    for (uint32_t id = 1; id <= 3; id++) assert_int_equal(owned_stack_push(&stack, id, set_next), id - 1);
    assert_int_equal(owned_stack_pop(&stack, next), 3);
    uint32_t id = owned_stack_take_all(&stack);
    assert_int_equal(id, 2);
    assert_int_equal(next_of[id], 1);
    assert_int_equal(next_of[1], 0);
    assert_int_equal(owned_stack_take_all(&stack), 0);
    assert_int_equal(owned_stack_push(&stack, 1, set_next), 0);
    assert_int_equal(owned_stack_pop(&stack, next), 1);
    assert_true(owned_stack_is_empty(&stack));
}

static void *taking(void *unused) {
    (void)unused;
    while (!atomic_load_explicit(&done, memory_order_relaxed)) take();
    return NULL;
}

static void threads_lose_nothing(void **state) {
    (void)state;
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, taking, NULL));
    for (uint32_t id = 1; id <= ELEMENTS; id++) {
        owned_stack_push(&stack, id, set_next);
        uint32_t popped = id % 3 == 0 ? owned_stack_pop(&stack, next) : 0;
        if (popped) had[popped]++;
    }
    atomic_store_explicit(&done, true, memory_order_relaxed);
    CHECK(!pthread_join(thread, NULL));
    take();
    for (uint32_t id = 1; id <= ELEMENTS; id++) assert_int_equal(had[id], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_owner_pops_the_last_one),
                                       cmocka_unit_test(threads_lose_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
