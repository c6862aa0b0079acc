/* bionic_test.c - what bionic's documentation and its tests of malloc expect, beyond what C and POSIX say: one function
 * for each expectation. For builds with JW_BIONIC; runs under glibc and in the mock C library (tests/embedded).
 */
#include "conformance.h"

#include <limits.h>

enum { TRIES = 50 };

/* --- sizes */

static void a_size_beyond_memory_is_refused(void **state) {
    (void)state;
    void *object = malloc(100);
    const size_t counts[][2] = {{SIZE_MAX, 100}, {1, SIZE_MAX}, {SIZE_MAX, SIZE_MAX}, {2, SIZE_MAX}, {SIZE_MAX, 2}};
    errno = 0;
    assert_true(malloc(SIZE_MAX) == NULL && errno == ENOMEM);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        errno = 0;
        assert_true(calloc(counts[i][0], counts[i][1]) == NULL && errno == ENOMEM);
    }
    errno = 0;
    assert_true(realloc(object, SIZE_MAX) == NULL && errno == ENOMEM); /* the object stays */
    errno = 0;
    assert_true(reallocarray(NULL, SIZE_MAX / 2 + 5, 2) == NULL && errno == ENOMEM);
    assert_true(memalign(4096, SIZE_MAX) == NULL && valloc(SIZE_MAX) == NULL && pvalloc(SIZE_MAX) == NULL);
    free(object);
}

static void size_0_gives_an_object_and_realloc_to_0_frees(void **state) {
    (void)state;
    void *objects[] = {malloc(0), calloc(0, 0), calloc(0, 1), calloc(1, 0), realloc(NULL, 0)};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        assert_non_null(objects[i]);
        free(objects[i]);
    }
    assert_null(realloc(malloc(1024), 0));
}

/* Also where the same object has just been filled. */
static void calloc_clears_all_usable_bytes(void **state) {
    (void)state;
    for (size_t size = 1; size <= 2048; size++) {
        char *object = malloc(size);
        memset(object, 0xeb, malloc_usable_size(object));
        free(object);
        object = calloc(1, size);
        assert_true(bytes_are_zero(object, malloc_usable_size(object)));
        free(object);
    }
}

/* Compilers for Android rely on it: 8 up to 8 bytes, else 16; with 32 bits 8 where the size is no multiple of 16. */
static void objects_have_androids_alignment(void **state) {
    (void)state;
    void *objects[100];
    for (size_t size = 1; size <= 128; size++) {
        bool wide = sizeof(void *) == 8 ? size > 8 : (size + 7) / 8 % 2 == 0;
        for (size_t i = 0; i < 100; i++) assert_true(is_aligned(objects[i] = malloc(size), wide ? 16 : 8));
        for (size_t i = 0; i < 100; i++) free(objects[i]);
    }
}

/* An alignment that is no power of two counts as the next one, 0 as 1. */
static void memalign_takes_each_alignment(void **state) {
    (void)state;
    for (size_t alignment = 0; alignment <= 8192; alignment++) {
        char *object = memalign(alignment, 100);
        size_t power = 1;
        while (power * 2 <= alignment) power *= 2;
        assert_non_null(object);
        assert_true(is_aligned(object, power) && malloc_usable_size(object) >= 100);
        free(object);
    }
}

static void an_aligned_object_keeps_its_bytes_in_realloc(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        const size_t sizes[] = {200, 300, 250, 100};
        char *object = memalign(alignment, 100);
        size_t before = 100;
        for (size_t i = 0; i < 4; i++) {
            pattern_fill(object, before, i);
            object = realloc(object, sizes[i]);
            assert_true(pattern_holds(object, before < sizes[i] ? before : sizes[i], i));
            assert_true(malloc_usable_size(object) >= sizes[i]);
            before = sizes[i];
        }
        free(object);
    }
}

/* --- mallinfo */

/* For each size one of fifty allocations must raise uordblks by the usable size at least. */
static void uordblks_grows(void **state) {
    (void)state;
    static const size_t sizes[] = {8, 32, 128, 4096, 32768, 131072, 1024000, 10240000, 20480000, 300000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *objects[TRIES] = {NULL};
        bool grew = false;
        for (size_t j = 0; j < TRIES && !grew; j++) {
            size_t before = mallinfo2().uordblks;
            assert_non_null(objects[j] = malloc(sizes[i]));
            grew = mallinfo2().uordblks >= before + malloc_usable_size(objects[j]);
        }
        assert_true(grew);
        for (size_t j = 0; j < TRIES; j++) free(objects[j]);
    }
}

/* --- malloc_info */

/* The number behind the first `before` at or after *at, which then moves behind the number. */
static size_t number_after(const char **at, const char *before) {
    const char *found = strstr(*at, before);
    assert_non_null(found);
    char *end;
    found += strlen(before);
    size_t number = (size_t)strtoull(found, &end, 10);
    assert_true(end > found && (*end == '<' || *end == '"'));
    *at = end;
    return number;
}

static const char *info(void) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    assert_int_equal(malloc_info(0, stream), 0);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* malloc, in it heaps with a number, in each the four sums and then bins. Each number is one of int. */
static void malloc_info_has_bionics_form(void **state) {
    (void)state;
    void *objects[] = {malloc(10), malloc(3000), malloc(100 * KB), malloc(9 * MB)};
    const char *text = info(), *at = text;
    assert_true(strncmp(text, "<malloc version=\"jemalloc-1\"><heap nr=\"0\">", 42) == 0);
    assert_true(number_after(&at, "<allocated-large>") >= 100 * KB);
    assert_true(number_after(&at, "</allocated-large><allocated-huge>") >= 9 * MB);
    size_t bins = number_after(&at, "</allocated-huge><allocated-bins>");
    size_t count = number_after(&at, "</allocated-bins><bins-total>"), sum = 0;
    assert_true(bins >= 3010 && count > 10);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(number_after(&at, "<bin nr=\""), i);
        size_t allocated = number_after(&at, "<allocated>");
        assert_true(number_after(&at, "</allocated><nmalloc>") >= number_after(&at, "</nmalloc><ndalloc>"));
        assert_true(allocated <= INT_MAX && strncmp(at, "</ndalloc></bin>", 16) == 0);
        sum += allocated;
    }
    assert_int_equal(sum, bins);
    assert_true(strcmp(at, "</ndalloc></bin></heap></malloc>\n") == 0);
    for (size_t i = 0; i < 4; i++) free(objects[i]);
}

/* The three sums together are between mallinfo before and after. */
static void malloc_info_matches_mallinfo(void **state) {
    (void)state;
    void *objects[] = {malloc(10), malloc(3000), malloc(100 * KB), malloc(9 * MB)};
    char *text = NULL;
    size_t length = 0, total = 0;
    FILE *stream = open_memstream(&text, &length);
    size_t before = mallinfo2().uordblks;
    assert_int_equal(malloc_info(0, stream), 0);
    size_t after = mallinfo2().uordblks;
    assert_int_equal(fclose(stream), 0);
    const char *at = text;
    total += number_after(&at, "<allocated-large>");
    total += number_after(&at, "<allocated-huge>");
    total += number_after(&at, "<allocated-bins>");
    assert_true(before <= total && total <= after);
    for (size_t i = 0; i < 4; i++) free(objects[i]);
}

/* --- mallopt */

static void mallopt_answers_and_leaves_errno_alone(void **state) {
    (void)state;
    enum { DECAY = -100, PURGE = -101, PURGE_ALL = -104, UNKNOWN = -1000 };
    errno = 0;
    assert_int_equal(mallopt(UNKNOWN, 1), 0);
    for (int i = 0; i < 4; i++) assert_int_equal(mallopt(DECAY, i % 2 == 0), 1);
    assert_int_equal(mallopt(DECAY, -1), 1);
    assert_int_equal(mallopt(DECAY, 1), 1);
    assert_int_equal(mallopt(PURGE, 0), 1);
    assert_int_equal(mallopt(PURGE_ALL, 0), 1);
    assert_int_equal(errno, 0);
}

/* --- zero contents, which a device's build asks for at the start, and an app at run time */

enum { OF_EACH_SIZE = 200, LARGE = 1000000, LARGE_ONES = 4, LEAST_USABLE = 8 };

static void *memalign_64(size_t size) {
    return memalign(64, size);
}

static void *posix_memalign_64(size_t size) {
    void *object = NULL;
    return posix_memalign(&object, 64, size) == 0 ? object : NULL;
}

/* What realloc adds to an object, behind its usable bytes. */
static void *added_by_realloc(size_t size) {
    char *object = malloc(LEAST_USABLE);
    assert_non_null(object);
    size_t before = malloc_usable_size(object);
    memset(object, 0xab, before);
    object = realloc(object, size);
    assert_non_null(object);
    memset(object, 0, before);
    return object;
}

/* The usable bytes of each object; then again, after all were written to. */
static void objects_are_zero(void *(*allocate)(size_t size), size_t size) {
    static char *objects[OF_EACH_SIZE];
    size_t count = size >= LARGE ? LARGE_ONES : OF_EACH_SIZE;
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; i < count; i++) {
            assert_non_null(objects[i] = allocate(size));
            size_t usable = malloc_usable_size(objects[i]);
            assert_true(bytes_are_zero(objects[i], usable));
            memset(objects[i], 0xab, usable);
        }
        for (size_t i = 0; i < count; i++) free(objects[i]);
    }
}

static void new_objects_are_zero_if_asked_for(void **state) {
    (void)state;
    enum { ZERO_INIT = -203 };
    static const size_t sizes[] = {1, 16, 48, 128, 1024, 4096, 65536, LARGE, 2 * LARGE, 4 * LARGE};
    void *(*const functions[])(size_t size) = {malloc, memalign_64, posix_memalign_64, added_by_realloc};
    assert_int_equal(mallopt(ZERO_INIT, 1), 1);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) objects_are_zero(functions[i], sizes[j]);
    assert_int_equal(mallopt(ZERO_INIT, 0), 1);
}

/* --- malloc_iterate */

enum { SIZES = 12 };

struct wanted {
    void *objects[SIZES];
    unsigned told[SIZES], others;
};

static void look_up(uintptr_t object, size_t size, void *argument) {
    struct wanted *wanted = argument;
    unsigned i = 0;
    while (i < SIZES && (uintptr_t)wanted->objects[i] != object) i++;
    if (i == SIZES) wanted->others++;
    else if (size == malloc_usable_size(wanted->objects[i])) wanted->told[i]++;
}

/* Each object once, with its usable size; from a range that is one object, that one only; no freed one. */
static void malloc_iterate_tells_of_each_object_in_use(void **state) {
    (void)state;
    static const size_t sizes[SIZES] = {1, 16, 128, 1000, 2048, 3000, 8192, 20000, 65536, 1000000, 5000000, 20000000};
    struct wanted wanted = {.others = 0};
    for (unsigned i = 0; i < SIZES; i++) assert_non_null(wanted.objects[i] = malloc(sizes[i]));
    assert_int_equal(malloc_iterate(0, SIZE_MAX, look_up, &wanted), 0);
    for (unsigned i = 0; i < SIZES; i++) assert_int_equal(wanted.told[i], 1);
    wanted.others = 0;
    for (unsigned i = 0; i < SIZES; i++) {
        uintptr_t object = (uintptr_t)wanted.objects[i];
        assert_int_equal(malloc_iterate(object, malloc_usable_size(wanted.objects[i]), look_up, &wanted), 0);
        assert_int_equal(wanted.told[i], 2);
        free(wanted.objects[i]);
        assert_int_equal(malloc_iterate(object, 1, look_up, &wanted), 0);
        assert_int_equal(wanted.told[i], 2);
    }
    assert_int_equal(wanted.others, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_beyond_memory_is_refused),
        cmocka_unit_test(size_0_gives_an_object_and_realloc_to_0_frees),
        cmocka_unit_test(calloc_clears_all_usable_bytes),
        cmocka_unit_test(objects_have_androids_alignment),
        cmocka_unit_test(memalign_takes_each_alignment),
        cmocka_unit_test(an_aligned_object_keeps_its_bytes_in_realloc),
        cmocka_unit_test(uordblks_grows),
        cmocka_unit_test(malloc_info_has_bionics_form),
        cmocka_unit_test(malloc_info_matches_mallinfo),
        cmocka_unit_test(mallopt_answers_and_leaves_errno_alone),
        cmocka_unit_test(new_objects_are_zero_if_asked_for),
        cmocka_unit_test(malloc_iterate_tells_of_each_object_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
