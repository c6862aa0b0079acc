/* pointer_stack_test.c - what is pushed, alone or linked, is taken once, newest first; and by threads. */
#include <pthread.h>

#include "sync/pointer_stack.h"
#include "unit.h"

enum { ELEMENTS = 4000, PUSHERS = 2 };

static struct element {
    struct stack_link link;
    uint32_t taken;
} elements[ELEMENTS];
static struct pointer_stack stack;

static uint32_t take(void) {
    uint32_t count = 0;
    for (struct stack_link *link = pointer_stack_take_all(&stack); link; link = link->next, count++)
        ((struct element *)link)->taken++;
    return count;
}

static void newest_comes_first(void **state) {
    (void)state;
    assert_true(pointer_stack_is_empty(&stack));
    assert_null(pointer_stack_take_all(&stack));
    pointer_stack_push(&stack, &elements[0].link, &elements[0].link);
    elements[2].link.next = &elements[1].link;
    pointer_stack_push(&stack, &elements[2].link, &elements[1].link);
    struct stack_link *link = pointer_stack_take_all(&stack);
    for (unsigned i = 3; i-- > 0; link = link->next) assert_ptr_equal(link, &elements[i].link);
    assert_null(link);
    assert_true(pointer_stack_is_empty(&stack));
}

static void *pushing(void *first) {
    for (size_t i = (size_t)first; i < ELEMENTS; i += PUSHERS)
        pointer_stack_push(&stack, &elements[i].link, &elements[i].link);
    return NULL;
}

static void threads_lose_nothing(void **state) {
    (void)state;
    pthread_t threads[PUSHERS];
    for (size_t i = 0; i < PUSHERS; i++) CHECK(!pthread_create(&threads[i], NULL, pushing, (void *)i));
    for (uint32_t count = 0; count < ELEMENTS;) count += take();
    for (size_t i = 0; i < PUSHERS; i++) CHECK(!pthread_join(threads[i], NULL));
    assert_true(pointer_stack_is_empty(&stack));
    for (size_t i = 0; i < ELEMENTS; i++) assert_int_equal(elements[i].taken, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(newest_comes_first), cmocka_unit_test(threads_lose_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
