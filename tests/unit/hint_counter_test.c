/* hint_counter_test.c - one thread counts exactly; several never count more than there was. */
#include <pthread.h>

#include "sync/hint_counter.h"
#include "unit.h"

enum { EVENTS = 4000, THREADS = 3 };

static struct hint_counter counter;
static _Atomic(bool) done;

static void *adding(void *unused) {
    (void)unused;
    for (int i = 0; i < EVENTS; i++) hint_counter_add(&counter);
    atomic_store_explicit(&done, true, memory_order_relaxed);
    return NULL;
}

static void one_thread_counts_exactly(void **state) {
    (void)state;
    pthread_t thread;
    counter = (struct hint_counter){0};
    assert_int_equal(hint_counter_read(&counter), 0);
    assert_int_equal(hint_counter_add(&counter), 1);
    CHECK(!pthread_create(&thread, NULL, adding, NULL));
    for (uint32_t before = 1, now; !atomic_load_explicit(&done, memory_order_relaxed); before = now) {
        now = hint_counter_read(&counter);
        assert_true(now >= before);
    }
    CHECK(!pthread_join(thread, NULL));
    assert_int_equal(hint_counter_read(&counter), EVENTS + 1);
}

static void several_threads_count_no_more_than_there_was(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    counter = (struct hint_counter){0};
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, adding, NULL));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
    uint32_t count = hint_counter_read(&counter);
    assert_true(count >= 1 && count <= THREADS * EVENTS);
    assert_int_equal(hint_counter_add(&counter), count + 1);
}

static void the_count_wraps(void **state) {
    (void)state;
    counter = (struct hint_counter){UINT32_MAX};
    assert_int_equal(hint_counter_add(&counter), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_thread_counts_exactly),
                                       cmocka_unit_test(several_threads_count_no_more_than_there_was),
                                       cmocka_unit_test(the_count_wraps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
