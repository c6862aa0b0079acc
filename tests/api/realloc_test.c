/* realloc_test.c - realloc and reallocarray: contents across every pair of tiers, and the corners as glibc has them. */
#include "conformance.h"

static const size_t stations[] = {1,       7,       8,       9,       16,      17,      100,           500,
                                  1024,    2047,    2048,    2049,    4095,    4096,    8191,          8192,
                                  12000,   16383,   16384,   16385,   40000,   65536,   65537,         262144,
                                  1 << 20, 3 << 20, 4194303, 4194304, 4194305, 6 << 20, (8 << 20) + 1, 20 << 20};
enum { STATIONS = sizeof stations / sizeof *stations };

/* Pairs above this many bytes cost the most: a third of them will do. Under an emulator smaller ones cost as much. */
#ifdef JW_EMULATED
enum { ALL_PAIRS_TO = 100 << 10, STEPS = 300 };
#else
enum { ALL_PAIRS_TO = 4 << 20, STEPS = 1500 };
#endif

static size_t smaller(size_t left, size_t right) {
    return left < right ? left : right;
}

static void realloc_keeps_contents_between_all_tiers(void **state) {
    (void)state;
    for (size_t from = 0; from < STATIONS; from++)
        for (size_t to = 0; to < STATIONS; to++) {
            if (smaller(stations[from], stations[to]) > ALL_PAIRS_TO && (from + to) % 3 != 0) continue;
            if (ALL_PAIRS_TO < MB && stations[from] + stations[to] > 8 * MB && (from + to) % 9 != 0) continue;
            void *object = malloc(stations[from]);
            assert_non_null(object);
            pattern_fill(object, stations[from], from);
            object = realloc(object, stations[to]);
            assert_non_null(object);
            assert_true(is_aligned(object, natural_alignment(stations[to])));
            assert_true(malloc_usable_size(object) >= stations[to]);
            assert_true(pattern_holds(object, smaller(stations[from], stations[to]), from));
            pattern_fill(object, malloc_usable_size(object), to);
            free(object);
        }
}

static void realloc_grows_and_shrinks_one_object(void **state) {
    (void)state;
    uint64_t seed = 7;
    size_t size = 16;
    void *object = malloc(size);
    pattern_fill(object, size, 1);
    for (int step = 0; step < STEPS; step++) {
        /* A walk in ratios, so that it spends its time in all tiers. */
        size_t next = size * (60 + random_below(&seed, 91)) / 100 + random_below(&seed, 32) + 1;
        if (next > 10 * MB) next = random_below(&seed, 5000) + 1;
        object = realloc(object, next);
        assert_non_null(object);
        assert_true(pattern_holds(object, smaller(size, next), 1));
        pattern_fill(object, next, 1);
        size = next;
    }
    free(object);
}

/* Half a gigabyte, one word on each page: what a move without copying must keep. */
static void realloc_moves_huge_objects(void **state) {
    (void)state;
    const size_t sizes[] = {5 * MB, 64 * MB, 65 * MB + 1, 512 * MB, 96 * MB, 9 * MB, 100 * KB, 128 * MB};
    char *object = NULL, *fence = NULL;
    size_t size = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizeof(size_t) == 4 && sizes[i] > 128 * MB) continue;
        object = realloc(object, sizes[i]);
        assert_non_null(object);
        for (size_t at = 0; at + sizeof at <= smaller(size, sizes[i]); at += 4 * KB)
            assert_int_equal(*(size_t *)(object + at), at);
        size = sizes[i];
        for (size_t at = 0; at + sizeof at <= size; at += 4 * KB) *(size_t *)(object + at) = at;
        free(fence);
        fence = malloc(6 * MB);
        assert_non_null(fence);
    }
    free(fence);
    free(object);
}

/* More than 4 GB at a time, of which only what is read later is touched. */
static void realloc_shrinks_and_grows_by_gigabytes(void **state) {
    (void)state;
    const uint64_t steps[] = {12ull << 30, 7ull << 30, 100ull << 30, 64ull << 30, (6ull << 30) + 5, 3ull << 30};
    if (sizeof(size_t) == 4) return;
    char *object = NULL;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char *resized = realloc(object, (size_t)steps[i]);
        if (!resized) break; /* no room for that */
        object = resized;
        if (i == 0) object[0] = object[(3ull << 30) - 1] = 5;
        assert_true(object[0] == 5 && object[(3ull << 30) - 1] == 5);
        assert_true(malloc_usable_size(object) >= steps[i]);
    }
    free(object);
}

static void realloc_of_null_is_malloc(void **state) {
    (void)state;
    void *object = realloc(NULL, 100);
    assert_non_null(object);
    memset(object, 1, 100);
    free(object);
    object = realloc(NULL, 0);
    assert_non_null(object);
    free(object);
}

/* 256 MB would stay resident if realloc(p, 0) did not free. */
static void realloc_to_zero_frees(void **state) {
    (void)state;
    size_t before = resident_bytes();
    for (int i = 0; i < 4096; i++) {
        void *object = malloc(64 * KB);
        assert_non_null(object);
        memset(object, 1, 64 * KB);
        assert_null(realloc(object, 0));
    }
    assert_true(resident_bytes() < before + 64 * MB);
}

static void check_failure_keeps_object(size_t size) {
    void *object = malloc(size);
    assert_non_null(object);
    pattern_fill(object, size, size);
    const size_t impossible[] = {SIZE_MAX, SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1, IMPOSSIBLE_SIZE};
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        errno = 0;
        assert_null(realloc(object, impossible[i]));
        assert_int_equal(errno, ENOMEM);
    }
    errno = 0;
    assert_null(reallocarray(object, SIZE_MAX / 2, 3));
    assert_int_equal(errno, ENOMEM);
    assert_true(pattern_holds(object, size, size));
    free(object);
}

static void failed_realloc_keeps_the_object(void **state) {
    (void)state;
    for_each_size(8 * MB, check_failure_keeps_object);
}

static void reallocarray_multiplies(void **state) {
    (void)state;
    void *object = reallocarray(NULL, 30, 100);
    assert_non_null(object);
    pattern_fill(object, 3000, 3);
    object = reallocarray(object, 300, 1000);
    assert_non_null(object);
    assert_true(malloc_usable_size(object) >= 300000);
    assert_true(pattern_holds(object, 3000, 3));
    free(object);
}

static void realloc_of_aligned_objects(void **state) {
    (void)state;
    for (size_t alignment = 16; alignment <= 8 * MB; alignment *= 8)
        for (size_t size = 24; size <= 5 * MB; size = size * 7 + 3) {
            void *object = aligned_alloc(alignment, size);
            assert_non_null(object);
            pattern_fill(object, size, alignment);
            object = realloc(object, size * 2 + 5);
            assert_non_null(object);
            assert_true(pattern_holds(object, size, alignment));
            object = realloc(object, size / 3 + 1);
            assert_non_null(object);
            assert_true(pattern_holds(object, size / 3 + 1, alignment));
            free(object);
        }
}

/* The steps between the sizes of an aligned object can be larger than its new size. That keeps no memory, and a sized
 * free accepts the new size. */
static void resized_aligned_objects_have_their_size(void **state) {
    (void)state;
    enum { GAPS = 50 }; /* so that aligned objects begin anywhere in their ranges */
    static void *gaps[GAPS];
    uint64_t seed = 1;
    for (size_t step = 0; step < STEPS; step++) {
        size_t gap = random_below(&seed, GAPS), small = 14400 + random_below(&seed, 12000);
        const size_t others[] = {100000 + random_below(&seed, 500000), small + random_below(&seed, 30000)};
        size_t other = others[step / 2 % 2], from = step % 2 ? small : other, to = step % 2 ? other : small;
        free(gaps[gap]);
        gaps[gap] = malloc(20000 + random_below(&seed, 400000));
        char *object = aligned_alloc(MB, from);
        assert_non_null(object);
        pattern_fill(object, from, step);
        assert_non_null(object = realloc(object, to));
        assert_true(pattern_holds(object, smaller(from, to), step));
        assert_true(malloc_usable_size(object) < 2 * to);
        if (free_sized) free_sized(object, to);
        else free(object);
    }
    for (size_t gap = 0; gap < GAPS; gap++) free(gaps[gap]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(realloc_keeps_contents_between_all_tiers),
        cmocka_unit_test(realloc_grows_and_shrinks_one_object),
        cmocka_unit_test(realloc_moves_huge_objects),
        cmocka_unit_test(realloc_shrinks_and_grows_by_gigabytes),
        cmocka_unit_test(realloc_of_null_is_malloc),
        cmocka_unit_test(realloc_to_zero_frees),
        cmocka_unit_test(failed_realloc_keeps_the_object),
        cmocka_unit_test(reallocarray_multiplies),
        cmocka_unit_test(realloc_of_aligned_objects),
        cmocka_unit_test(resized_aligned_objects_have_their_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
