/* aligned_test.c - every aligned entry point, from 8 B to 64 MB, and what a bad alignment gets. */
#include "conformance.h"

enum { HELD = 6 };

static void *by_posix_memalign(size_t alignment, size_t size) {
    void *object = NULL;
    return posix_memalign(&object, alignment, size) == 0 ? object : NULL;
}

/* Some held at a time, so that neighbours would be seen to overlap. */
static void check_aligned(void *(*allocate)(size_t alignment, size_t size), size_t alignment, size_t size) {
    void *held[HELD];
    size_t count = alignment + size <= 1 * MB ? HELD : 2;
    for (size_t i = 0; i < count; i++) {
        held[i] = allocate(alignment, size);
        assert_non_null(held[i]);
        assert_true(is_aligned(held[i], alignment));
        assert_true(malloc_usable_size(held[i]) >= size);
        pattern_fill(held[i], size, i);
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(pattern_holds(held[i], size, i));
        free(held[i]);
    }
}

static void check_all_alignments(void *(*allocate)(size_t alignment, size_t size)) {
    for (size_t alignment = sizeof(void *); alignment <= 64 * MB; alignment *= 2) {
        const size_t sizes[] = {0, 1, 24, 100, 1000, 2048, 5000, 16384, 70000, alignment - 1, alignment, alignment + 1};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (sizes[i] <= 8 * MB) check_aligned(allocate, alignment, sizes[i]);
    }
    check_aligned(allocate, 64, 4 * MB);
    check_aligned(allocate, 4096, 4 * MB - 1);
    check_aligned(allocate, 4 * MB, 9 * MB);
}

static void aligned_alloc_aligns(void **state) {
    (void)state;
    check_all_alignments(aligned_alloc);
}

static void posix_memalign_aligns(void **state) {
    (void)state;
    check_all_alignments(by_posix_memalign);
}

static void memalign_aligns(void **state) {
    (void)state;
    check_all_alignments(memalign);
}

static void posix_memalign_refuses_bad_alignments(void **state) {
    (void)state;
    const size_t bad[] = {0, 1, 2, 3, sizeof(void *) / 2, sizeof(void *) + 1, sizeof(void *) * 3, 100, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        void *untouched = &untouched;
        errno = 12345;
        assert_int_equal(posix_memalign(&untouched, bad[i], 100), EINVAL);
        assert_ptr_equal(untouched, &untouched);
        assert_int_equal(errno, 12345);
    }
}

static void posix_memalign_reports_no_memory(void **state) {
    (void)state;
    const size_t impossible[] = {SIZE_MAX, SIZE_MAX - 100, IMPOSSIBLE_SIZE};
    for (size_t alignment = sizeof(void *); alignment <= 4 * MB; alignment *= 2)
        for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
            void *untouched = &untouched;
            assert_int_equal(posix_memalign(&untouched, alignment, impossible[i]), ENOMEM);
            assert_ptr_equal(untouched, &untouched);
        }
}

static void aligned_alloc_refuses_bad_alignments(void **state) {
    (void)state;
    /* glibc before 2.38 rounds them up instead. */
    if (!under_jwmalloc()) skip();
    const size_t bad[] = {0, 3, 24, 100, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        errno = 0;
        assert_null(aligned_alloc(bad[i], 96));
        assert_int_equal(errno, EINVAL);
    }
}

/* The old entry point: an alignment that is no power of two is rounded up (glibc, bionic) or refused, never misread. */
static void memalign_rounds_or_refuses(void **state) {
    (void)state;
    const size_t odd[] = {0, 1, 3, 24, 100, 4097};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        errno = 0;
        void *object = memalign(odd[i], 200);
        size_t rounded = 1;
        while (rounded < odd[i]) rounded *= 2;
        assert_true(object != NULL ? is_aligned(object, rounded) : errno == EINVAL);
        free(object);
    }
    errno = 0;
    assert_null(memalign(SIZE_MAX, 10));
    assert_true(errno == EINVAL || errno == ENOMEM);
}

static void valloc_and_pvalloc_use_pages(void **state) {
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = 1; size <= 6 * MB; size = size * 5 + 1) {
        void *object = valloc(size);
        assert_non_null(object);
        assert_true(is_aligned(object, page));
        pattern_fill(object, size, 1);
        void *whole = pvalloc(size);
        assert_non_null(whole);
        assert_true(is_aligned(whole, page));
        assert_true(malloc_usable_size(whole) >= (size + page - 1) / page * page);
        pattern_fill(whole, (size + page - 1) / page * page, 2);
        assert_true(pattern_holds(object, size, 1));
        free(object);
        free(whole);
    }
    errno = 0;
    assert_null(valloc(SIZE_MAX));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    assert_null(pvalloc(SIZE_MAX));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    assert_null(pvalloc(SIZE_MAX - page + 2));
    assert_int_equal(errno, ENOMEM);
}

/* Aligned objects are ordinary ones to everything else. */
static void aligned_objects_mix_with_others(void **state) {
    (void)state;
    enum { COUNT = 400 };
    static void *objects[COUNT];
    static size_t sizes[COUNT];
    uint64_t seed = 11;
    for (int step = 0; step < 20000; step++) {
        size_t i = random_below(&seed, COUNT);
        if (objects[i] != NULL) assert_true(pattern_holds(objects[i], sizes[i], i));
        free(objects[i]);
        size_t alignment = (size_t)8 << random_below(&seed, 11);
        sizes[i] = random_below(&seed, (size_t)16 << random_below(&seed, 12)) + 1;
        objects[i] = step % 2 == 0 ? aligned_alloc(alignment, sizes[i]) : malloc(sizes[i]);
        assert_non_null(objects[i]);
        assert_true(is_aligned(objects[i], step % 2 == 0 ? alignment : natural_alignment(sizes[i])));
        pattern_fill(objects[i], sizes[i], i);
    }
    for (size_t i = 0; i < COUNT; i++) free(objects[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_alloc_aligns),
        cmocka_unit_test(posix_memalign_aligns),
        cmocka_unit_test(memalign_aligns),
        cmocka_unit_test(posix_memalign_refuses_bad_alignments),
        cmocka_unit_test(posix_memalign_reports_no_memory),
        cmocka_unit_test(aligned_alloc_refuses_bad_alignments),
        cmocka_unit_test(memalign_rounds_or_refuses),
        cmocka_unit_test(valloc_and_pvalloc_use_pages),
        cmocka_unit_test(aligned_objects_mix_with_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
