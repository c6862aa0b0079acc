/* atomics_test.c - C11's operations as base/atomics.h makes them: by the compiler, or by calls that use LSE. On AArch64
 * JW_TEST_LSE says which of the two forms the processor has: 1 or 0. */
#include <pthread.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "platform/lse.h"
#include "unit.h"

enum { THREADS = 3, EVENTS = 3000 };

struct pair {
    uint16_t low, high;
};
static _Atomic(uint32_t) narrow;
static _Atomic(uint64_t) wide;
static _Atomic(intptr_t) sum;
static _Atomic(char *) pointer;
static _Atomic(struct pair) halves;

/* Each operation gives the word's old value, and leaves the new one. */
#define FETCHES(word, function, order, before, operand, after)                                                         \
    do {                                                                                                               \
        atomic_store_explicit(&(word), before, memory_order_relaxed);                                                  \
        assert_true(function(&(word), operand, order) == (before));                                                    \
        assert_true(atomic_load_explicit(&(word), memory_order_relaxed) == (after));                                   \
    } while (0)

#define FETCHES_BOTH(order, big)                                                                                       \
    do {                                                                                                               \
        FETCHES(narrow, atomic_fetch_add_explicit, order, UINT32_MAX, 3, 2);                                           \
        FETCHES(narrow, atomic_fetch_sub_explicit, order, 1, 3u, UINT32_MAX - 1);                                      \
        FETCHES(narrow, atomic_fetch_or_explicit, order, 0xf0u, 0x8000000fu, 0x800000ffu);                             \
        FETCHES(narrow, atomic_fetch_and_explicit, order, 0xffu, 0x8000000fu, 0xfu);                                   \
        FETCHES(narrow, atomic_exchange_explicit, order, 7, 9, 9);                                                     \
        FETCHES(wide, atomic_fetch_add_explicit, order, UINT32_MAX, 3, (uint64_t)UINT32_MAX + 3);                      \
        FETCHES(wide, atomic_fetch_sub_explicit, order, 1, (uint64_t)3, UINT64_MAX - 1);                               \
        FETCHES(wide, atomic_fetch_or_explicit, order, 1, big, (big) | 1);                                             \
        FETCHES(wide, atomic_fetch_and_explicit, order, (big) | 3, (big) | 2, (big) | 2);                              \
    } while (0)

static void operations_have_their_results(void **state) {
    (void)state;
    FETCHES_BOTH(memory_order_relaxed, (uint64_t)1 << 40);
    FETCHES_BOTH(memory_order_acquire, (uint64_t)1 << 63);
    FETCHES_BOTH(memory_order_release, (uint64_t)1 << 33);
    FETCHES_BOTH(memory_order_acq_rel, (uint64_t)1 << 32);
    FETCHES(wide, atomic_exchange_explicit, memory_order_acquire, 7, UINT64_MAX, UINT64_MAX);
    FETCHES(sum, atomic_fetch_add_explicit, memory_order_relaxed, -1, -2, -3);
}

static void exchanges_what_is_expected_and_nothing_else(void **state) {
    (void)state;
    static char place[2];
    uint32_t seen = 5;
    atomic_store_explicit(&narrow, 4, memory_order_relaxed);
    assert_false(
        atomic_compare_exchange_strong_explicit(&narrow, &seen, 6, memory_order_release, memory_order_relaxed));
    assert_int_equal(seen, 4);
    assert_true(atomic_compare_exchange_strong_explicit(&narrow, &seen, 6, memory_order_acquire, memory_order_relaxed));
    assert_int_equal(seen, 4);
    assert_int_equal(atomic_load_explicit(&narrow, memory_order_relaxed), 6);

    char *known = &place[1];
    atomic_store_explicit(&pointer, place, memory_order_relaxed);
    assert_false(
        atomic_compare_exchange_strong_explicit(&pointer, &known, NULL, memory_order_acq_rel, memory_order_acquire));
    assert_ptr_equal(known, place);
    while (!atomic_compare_exchange_weak_explicit(&pointer, &known, &place[1], memory_order_release,
                                                  memory_order_relaxed)) {
    }
    assert_ptr_equal(atomic_exchange_explicit(&pointer, NULL, memory_order_acquire), &place[1]);

    struct pair two = {1, 2};
    atomic_store_explicit(&halves, two, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&halves, &two, ((struct pair){3, 4}), memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    two = atomic_load_explicit(&halves, memory_order_relaxed);
    assert_int_equal(two.low, 3);
    assert_int_equal(two.high, 4);
}

static void *counting(void *unused) {
    (void)unused;
    for (int i = 0; i < EVENTS; i++) {
        atomic_fetch_add_explicit(&narrow, 1, memory_order_relaxed);
        uint64_t seen = atomic_load_explicit(&wide, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&wide, &seen, seen + 1, memory_order_acq_rel,
                                                      memory_order_relaxed)) {
        }
    }
    return NULL;
}

static void threads_lose_no_change(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    atomic_store_explicit(&narrow, 0, memory_order_relaxed);
    atomic_store_explicit(&wide, 0, memory_order_relaxed);
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, counting, NULL));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
    assert_int_equal(atomic_load_explicit(&narrow, memory_order_relaxed), THREADS * EVENTS);
    assert_int_equal(atomic_load_explicit(&wide, memory_order_relaxed), THREADS * EVENTS);
}

/* Before lse_start, as a thread that makes the first call, and after it. */
static void the_processors_form_is_used(void **state) {
    (void)state;
    operations_have_their_results(NULL);
    exchanges_what_is_expected_and_nothing_else(NULL);
    lse_start();
#if JW_LSE_CALLS
    const char *expected = getenv("JW_TEST_LSE");
    if (expected) assert_int_equal(jw_lse_is_there, *expected == '1');
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_processors_form_is_used), cmocka_unit_test(operations_have_their_results),
        cmocka_unit_test(exchanges_what_is_expected_and_nothing_else), cmocka_unit_test(threads_lose_no_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
