/* basic_test.c - malloc, free, calloc and their sized and aligned frees: what they promise at every size. */
#include "conformance.h"

enum { BATCH = 40 };

static void *batch[BATCH];

/* A batch of one size: aligned, disjoint, and every usable byte ours to write. */
static void check_batch(size_t size) {
    for (size_t i = 0; i < BATCH; i++) {
        batch[i] = malloc(size);
        assert_non_null(batch[i]);
        assert_true(is_aligned(batch[i], natural_alignment(size)));
        assert_true(malloc_usable_size(batch[i]) >= size);
        pattern_fill(batch[i], malloc_usable_size(batch[i]), i);
    }
    for (size_t i = 0; i < BATCH; i++) {
        assert_true(pattern_holds(batch[i], malloc_usable_size(batch[i]), i));
        free(batch[i]);
    }
}

static void malloc_gives_aligned_disjoint_objects(void **state) {
    (void)state;
    for_each_size(256 * KB, check_batch);
}

static void check_single(size_t size) {
    char *object = malloc(size);
    assert_non_null(object);
    assert_true(is_aligned(object, natural_alignment(size)));
    pattern_fill(object, malloc_usable_size(object), size);
    assert_true(pattern_holds(object, malloc_usable_size(object), size));
    free(object);
}

static void malloc_serves_every_size_up_to_2_kilobytes(void **state) {
    (void)state;
    for (size_t size = 0; size <= 2 * KB + 64; size++) {
        check_single(size);
        check_single(size);
    }
}

static void malloc_serves_large_sizes(void **state) {
    (void)state;
    for_each_size(32 * MB, check_single);
}

static void malloc_of_zero_gives_distinct_objects(void **state) {
    (void)state;
    for (size_t i = 0; i < BATCH; i++) {
        batch[i] = i % 2 == 0 ? malloc(0) : calloc(0, 8);
        assert_non_null(batch[i]);
        for (size_t j = 0; j < i; j++) assert_true(batch[i] != batch[j]);
    }
    for (size_t i = 0; i < BATCH; i++) free(batch[i]);
}

static void free_of_null_does_nothing(void **state) {
    (void)state;
    free(NULL);
    if (cfree != NULL) cfree(NULL);
    if (free_sized != NULL) free_sized(NULL, 10);
    if (free_aligned_sized != NULL) free_aligned_sized(NULL, 64, 128);
}

static void check_errno_kept(size_t size) {
    void *object = malloc(size);
    assert_non_null(object);
    errno = 12345;
    free(object);
    assert_int_equal(errno, 12345);
}

static void free_keeps_errno(void **state) {
    (void)state;
    for_each_size(16 * MB, check_errno_kept);
}

static void check_success_leaves_errno(size_t size) {
    errno = 12345;
    void *object = malloc(size);
    assert_int_equal(errno, 12345);
    object = realloc(object, 2 * size);
    assert_int_equal(errno, 12345);
    free(object);
}

static void success_leaves_errno_alone(void **state) {
    (void)state;
    if (!under_jwmalloc()) skip();
    for_each_size(8 * MB, check_success_leaves_errno);
}

/* Dirty objects are freed and come back from calloc: at once, and after the heap has been trimmed. */
static void check_zeroed(size_t size) {
    size_t count = size <= 128 * KB ? BATCH : 3;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < count; i++) {
            batch[i] = calloc(1, size);
            assert_non_null(batch[i]);
            assert_true(is_aligned(batch[i], natural_alignment(size)));
            assert_true(bytes_are_zero(batch[i], malloc_usable_size(batch[i]))); /* all that may be used */
            memset(batch[i], 0xa5, malloc_usable_size(batch[i]));
        }
        for (size_t i = 0; i < count; i++) free(batch[i]);
        if (round == 1) malloc_trim(0);
    }
}

static void calloc_is_zero_after_dirty_reuse(void **state) {
    (void)state;
    for_each_size(12 * MB, check_zeroed);
}

/* Where other sizes were, and where neither tier nor class begins with the request. */
static void calloc_clears_what_may_be_used(void **state) {
    (void)state;
    for (size_t step = 1; step < 2 * MB; step += step / 2 + 1) {
        for (size_t i = 0; i < BATCH; i++) {
            batch[i] = malloc(step / 3 + 1);
            assert_non_null(batch[i]);
            memset(batch[i], 0xa5, malloc_usable_size(batch[i]));
        }
        for (size_t i = 0; i < BATCH; i++) free(batch[i]);
        for (size_t i = 0; i < BATCH; i++) {
            batch[i] = i % 2 == 0 ? calloc(step, 1) : calloc(1, step - 1);
            assert_non_null(batch[i]);
            assert_true(bytes_are_zero(batch[i], malloc_usable_size(batch[i])));
            memset(batch[i], 0xa5, malloc_usable_size(batch[i]));
        }
        for (size_t i = 0; i < BATCH; i++) free(batch[i]);
    }
}

static void calloc_multiplies(void **state) {
    (void)state;
    char *object = calloc(300, 1000);
    assert_non_null(object);
    assert_true(malloc_usable_size(object) >= 300000);
    assert_true(bytes_are_zero(object, 300000));
    free(object);
}

static void check_sized_free(size_t size) {
    void *object = malloc(size);
    assert_non_null(object);
    free_sized(object, size);
    object = calloc(1, size);
    assert_non_null(object);
    free_sized(object, size);
    object = aligned_alloc(64, size);
    assert_non_null(object);
    free_aligned_sized(object, 64, size);
    cfree(malloc(size));
}

static void sized_frees_free(void **state) {
    (void)state;
    if (free_sized == NULL || free_aligned_sized == NULL || cfree == NULL) skip();
    for (int round = 0; round < 20; round++) for_each_size(8 * MB, check_sized_free);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malloc_gives_aligned_disjoint_objects),
        cmocka_unit_test(malloc_serves_every_size_up_to_2_kilobytes),
        cmocka_unit_test(malloc_serves_large_sizes),
        cmocka_unit_test(malloc_of_zero_gives_distinct_objects),
        cmocka_unit_test(free_of_null_does_nothing),
        cmocka_unit_test(free_keeps_errno),
        cmocka_unit_test(success_leaves_errno_alone),
        cmocka_unit_test(calloc_is_zero_after_dirty_reuse),
        cmocka_unit_test(calloc_clears_what_may_be_used),
        cmocka_unit_test(calloc_multiplies),
        cmocka_unit_test(sized_frees_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
