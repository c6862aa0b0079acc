/* profile_table_test.c - the profiler's table of samples: what is in it is found, until it is removed. */
#include "unit.h"

#include <pthread.h>

#include "insight/profile/table.h"

enum { MANY = 40000, THREADS = 4, ROUNDS = 20000, SAME_FILTER = 1 << 24 };

static void *object_at(size_t number) {
    return (void *)(number * 64);
}

static void an_object_is_found_once(void **state) {
    (void)state;
    assert_int_equal(table_remove(object_at(1)), 0);
    assert_true(table_insert(object_at(1), 7));
    assert_true(filter_has(object_at(1)));
    assert_int_equal(table_remove(object_at(2)), 0);
    assert_int_equal(table_remove(object_at(1)), 7);
    assert_int_equal(table_remove(object_at(1)), 0);
    assert_false(filter_has(object_at(1)));
}

static void null_is_no_sample(void **state) {
    (void)state;
    void *object = (void *)(uintptr_t)SAME_FILTER; /* NULL has the same count in the filter */
    for (int i = 0; i < 300; i++) assert_int_equal(table_remove(NULL), 0);
    assert_false(filter_has(object));
    assert_true(table_insert(object, 3));
    for (int i = 0; i < 300; i++) assert_int_equal(table_remove(NULL), 0);
    assert_true(filter_has(object));
    assert_int_equal(table_remove(object), 3);
}

static void the_filter_counts_up_to_255(void **state) {
    (void)state;
    for (int i = 0; i < UINT8_MAX; i++) assert_true(filter_add(object_at(1)));
    assert_false(filter_add(object_at(1)));
    assert_false(table_insert(object_at(1), 1));
    for (int i = 0; i < UINT8_MAX; i++) {
        assert_true(filter_has(object_at(1)));
        filter_remove(object_at(1));
    }
    assert_false(filter_has(object_at(1)));
}

static uint64_t visited;
static void visit(uint32_t row) {
    visited += row;
}

/* Some sets are full, and refuse. What was inserted is there, what was refused has left nothing. */
static void what_was_inserted_is_visited_and_found(void **state) {
    (void)state;
    static bool in[MANY];
    uint64_t sum = 0;
    for (uint32_t i = 1; i < MANY; i++)
        if ((in[i] = table_insert((void *)((uintptr_t)i << 8), i))) sum += i;
    visited = 0;
    table_each(visit);
    assert_true(visited == sum && sum > 0);
    for (uint32_t i = 1; i < MANY; i++) assert_int_equal(table_remove((void *)((uintptr_t)i << 8)), in[i] ? i : 0);
    for (uint32_t i = 1; i < MANY; i++) assert_false(filter_has((void *)((uintptr_t)i << 8)));
}

static void a_full_set_refuses(void **state) {
    (void)state;
    size_t most = 0, refused = 0;
    for (; refused == 0 && most < 1 << 20; most++)
        if (!table_insert((void *)((most + 1) << 8), 1)) refused = most + 1;
    assert_true(refused != 0);
    assert_int_equal(table_remove((void *)(refused << 8)), 0);
    for (size_t i = 1; i < refused; i++) assert_int_equal(table_remove((void *)(i << 8)), 1);
    assert_true(table_insert((void *)(refused << 8), 2));
    assert_int_equal(table_remove((void *)(refused << 8)), 2);
}

static void *insert_and_remove(void *argument) {
    uint32_t thread = (uint32_t)(uintptr_t)argument;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        void *object = object_at(1 + thread + (size_t)(i % 64) * THREADS);
        if (!table_insert(object, thread + 1)) return "refused";
        table_remove(NULL);
        if (table_remove(object) != thread + 1) return "lost";
    }
    return NULL;
}

static void threads_find_their_own(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, insert_and_remove, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failure;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
    visited = 0;
    table_each(visit);
    assert_true(visited == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_found_once),     cmocka_unit_test(null_is_no_sample),
        cmocka_unit_test(the_filter_counts_up_to_255), cmocka_unit_test(what_was_inserted_is_visited_and_found),
        cmocka_unit_test(a_full_set_refuses),          cmocka_unit_test(threads_find_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
