/* limits_test.c - sizes that cannot be: NULL and ENOMEM from every entry point, and the heap as good as before. */
#include "conformance.h"

static const size_t impossible[] = {SIZE_MAX,        SIZE_MAX - 1,     SIZE_MAX - 7,         SIZE_MAX - 15,
                                    SIZE_MAX - 4095, SIZE_MAX - 65536, SIZE_MAX - (4 << 20), (size_t)PTRDIFF_MAX + 1,
                                    (size_t)-1 * 16, IMPOSSIBLE_SIZE};
enum { IMPOSSIBLE = sizeof impossible / sizeof *impossible };

static void check_refused(void *object) {
    assert_null(object);
    assert_int_equal(errno, ENOMEM);
    errno = 0;
}

static void impossible_sizes_are_refused(void **state) {
    (void)state;
    errno = 0;
    for (size_t i = 0; i < IMPOSSIBLE; i++) {
        check_refused(malloc(impossible[i]));
        check_refused(calloc(1, impossible[i]));
        check_refused(calloc(impossible[i], 1));
        check_refused(realloc(NULL, impossible[i]));
        check_refused(reallocarray(NULL, 1, impossible[i]));
        for (size_t alignment = 8; alignment <= 16 * MB; alignment *= 2) {
            check_refused(aligned_alloc(alignment, impossible[i]));
            check_refused(memalign(alignment, impossible[i]));
        }
        check_refused(valloc(impossible[i]));
        check_refused(pvalloc(impossible[i]));
    }
}

static void products_that_overflow_are_refused(void **state) {
    (void)state;
    const size_t half = (size_t)1 << (sizeof(size_t) * 4);
    const size_t pairs[][2] = {{half, half},          {half + 1, half},      {SIZE_MAX, 2},
                               {2, SIZE_MAX},         {SIZE_MAX, SIZE_MAX},  {half * 2, half},
                               {SIZE_MAX / 3 + 1, 3}, {SIZE_MAX / 8 + 1, 8}, {16, SIZE_MAX / 16 + 2}};
    errno = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        check_refused(calloc(pairs[i][0], pairs[i][1]));
        check_refused(reallocarray(NULL, pairs[i][0], pairs[i][1]));
    }
}

static void huge_alignments_do_not_overflow(void **state) {
    (void)state;
    const size_t highest = (size_t)1 << (sizeof(size_t) * 8 - 1);
    errno = 0;
    /* On 32 bits there is one address of this kind, and it may be had. */
    if (sizeof(size_t) > 4) check_refused(aligned_alloc(highest, 1));
    check_refused(aligned_alloc(highest, highest));
    check_refused(memalign(highest, SIZE_MAX));
    check_refused(aligned_alloc(highest / 2, highest));
    void *untouched = &untouched;
    assert_int_equal(posix_memalign(&untouched, highest, SIZE_MAX / 2), ENOMEM);
    assert_ptr_equal(untouched, &untouched);
}

static void the_heap_is_good_after_refusals(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_null(malloc(impossible[i % IMPOSSIBLE]));
        void *object = malloc((size_t)i * 37 + 1);
        assert_non_null(object);
        memset(object, 1, (size_t)i * 37 + 1);
        free(object);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(products_that_overflow_are_refused),
        cmocka_unit_test(huge_alignments_do_not_overflow),
        cmocka_unit_test(the_heap_is_good_after_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
