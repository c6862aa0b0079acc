/* introspection_test.c - the functions that look at the heap or tune it: sizes, mallinfo, malloc_info, trim,
 * mallopt. */
#include "conformance.h"

#include <limits.h>

static bool hardened;

static void usable_size_of_null_is_zero(void **state) {
    (void)state;
    assert_int_equal(malloc_usable_size(NULL), 0);
}

static void check_good_size(size_t size) {
    void *object = malloc(size);
    assert_non_null(object);
    assert_true(malloc_good_size(size) >= size);
    size_t good = malloc_good_size(size), usable = malloc_usable_size(object);
    /* a heap's first objects up to 2 KB have a coarser class; a large one may have a cached range of a larger class */
    if (good > 2048 && good < 14 * KB) assert_int_equal(good, usable);
    assert_true(good <= usable && (good == usable || usable / 2 < size));
    free(object);
}

static void good_size_is_what_malloc_gives(void **state) {
    (void)state;
    if (malloc_good_size == NULL) skip();
    for_each_size(24 * MB, check_good_size);
    for (size_t size = 0; size <= 20 * KB; size++) check_good_size(size);
}

/* A good size is a fixed point, and asking for more never gives less. */
static void good_size_is_monotonic(void **state) {
    (void)state;
    if (malloc_good_size == NULL) skip();
    size_t previous = 0;
    for (size_t size = 1; size <= 6 * MB; size += 1 + size / 100) {
        size_t good = malloc_good_size(size);
        assert_true(good >= previous);
        assert_int_equal(malloc_good_size(good), good);
        previous = good;
    }
}

/* Objects with mappings of their own may be counted in uordblks too (bionic), or not (glibc). */
static size_t in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void mallinfo_follows_large_objects(void **state) {
    (void)state;
    size_t before = in_use();
    char *large = malloc(3 * MB), *huge = malloc(40 * MB);
    assert_true(large != NULL && huge != NULL);
    memset(large, 1, 3 * MB);
    size_t held = in_use();
    assert_true(held >= before + 40 * MB && held <= before + 100 * MB);
    struct mallinfo2 info = mallinfo2();
    assert_true(info.arena + info.hblkhd >= info.uordblks);
    free(large);
    free(huge);
    assert_true(in_use() <= before + 8 * MB);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    (void)mallinfo();
#pragma GCC diagnostic pop
}

/* The sums of the wide form, and the narrow form, which has no larger numbers than an int. */
static void mallinfos_numbers_fit_together(void **state) {
    (void)state;
    if (!under_jwmalloc()) skip();
    struct mallinfo2 before = mallinfo2();
    char *large = malloc(2 * MB), *other = malloc(MB), *huge = malloc(40 * MB);
    assert_true(large && other && huge);
    free(other);
    struct mallinfo2 wide = mallinfo2();
    if (!hardened) { /* where freed huge objects wait, count, and go when others come */
        assert_int_equal(wide.hblks, before.hblks + 1);
        assert_int_equal(wide.hblkhd, before.hblkhd + malloc_usable_size(huge));
    }
    assert_true(wide.uordblks >= before.uordblks + 42 * MB && wide.uordblks < before.uordblks + 44 * MB);
    assert_int_equal(wide.fordblks, wide.arena - (wide.uordblks - wide.hblkhd));
    assert_true(wide.keepcost <= wide.fordblks && wide.arena % 4096 == 0 && wide.ordblks > 0);
    assert_true(wide.smblks == 0 && wide.fsmblks == 0 && wide.usmblks == 0);
    struct mallinfo narrow = mallinfo();
    assert_int_equal((size_t)narrow.arena, wide.arena);
    assert_int_equal((size_t)narrow.ordblks, wide.ordblks);
    assert_int_equal((size_t)narrow.hblks, wide.hblks);
    assert_int_equal((size_t)narrow.hblkhd, wide.hblkhd);
    assert_int_equal((size_t)narrow.uordblks, wide.uordblks);
    assert_int_equal((size_t)narrow.fordblks, wide.fordblks);
    assert_int_equal((size_t)narrow.keepcost, wide.keepcost);
    if (malloc_trim(0)) assert_true(mallinfo2().keepcost < MB / 4); /* the rest of the root has no pages */
    if (sizeof(size_t) > 4) {
        char *most = malloc((size_t)3 << 30); /* its addresses only */
        assert_non_null(most);
        narrow = mallinfo();
        assert_true(narrow.hblkhd == INT_MAX && narrow.uordblks == INT_MAX);
        assert_true(hardened || narrow.hblks == (int)wide.hblks + 1);
        free(most);
    }
    free(large);
    free(huge);
}

static void malloc_info_tells_of_a_full_device(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL) skip();
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_not_equal(malloc_info(0, full), 0);
    fclose(full);
}

/* Whatever the heap holds, the document must parse: Python's parser is the judge. */
static void malloc_info_is_xml(void **state) {
    (void)state;
    char path[] = "/tmp/malloc_info_XXXXXX", command[256];
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *stream = fdopen(file, "w");
    assert_non_null(stream);
    void *objects[] = {malloc(10), malloc(3000), malloc(100 * KB), malloc(9 * MB)};
    assert_int_equal(malloc_info(0, stream), 0);
    for (size_t i = 0; i < 4; i++) free(objects[i]);
    assert_int_equal(fclose(stream), 0);
    snprintf(command, sizeof command,
             "python3 -c \"import sys, xml.etree.ElementTree as t; "
             "sys.exit(t.parse('%s').getroot().tag != 'malloc')\"",
             path);
    assert_int_equal(system(command), 0);
    unlink(path);
}

static void malloc_info_refuses_unknown_options(void **state) {
    (void)state;
    assert_int_not_equal(malloc_info(1, stderr), 0);
}

static void malloc_stats_goes_to_standard_error(void **state) {
    (void)state;
    char path[] = "/tmp/malloc_stats_XXXXXX";
    int file = mkstemp(path), kept = dup(STDERR_FILENO);
    assert_true(file >= 0 && kept >= 0);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    malloc_stats();
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    assert_true(lseek(file, 0, SEEK_END) > 0);
    close(file);
    close(kept);
    unlink(path);
}

/* All the memory is free and trimmed: it must have left the process. */
static void trim_gives_memory_back(void **state) {
    (void)state;
    if (!under_jwmalloc()) skip();
    enum { COUNT = 4096 };
    static void *objects[COUNT];
    const size_t sizes[] = {64, 1000, 5000, 40 * KB};
    size_t before = resident_bytes();
    for (size_t kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < COUNT; i++) {
            objects[i] = malloc(sizes[kind]);
            assert_non_null(objects[i]);
            memset(objects[i], 1, sizes[kind]);
        }
        for (size_t i = 0; i < COUNT; i++) free(objects[i]);
    }
    assert_int_equal(malloc_trim(0), 1);
    assert_true(resident_bytes() <= before + 2 * MB);
    for (size_t i = 0; i < COUNT; i++) {
        objects[i] = calloc(1, 5000);
        assert_true(bytes_are_zero(objects[i], 5000));
    }
    for (size_t i = 0; i < COUNT; i++) free(objects[i]);
    assert_int_equal(mallopt(M_PURGE, 0), 1);
    assert_true(resident_bytes() <= before + 2 * MB);
}

static void mallopt_knows_the_platforms_parameters(void **state) {
    (void)state;
    if (!under_jwmalloc()) skip();
    assert_int_equal(mallopt(M_PURGE, 0), 1);
    assert_int_equal(mallopt(M_DECAY_TIME, 0), 1);
    assert_int_equal(mallopt(M_DECAY_TIME, 1), 1);
    assert_int_equal(mallopt(-123456, 1), 0);
}

int main(int count, char **arguments) {
    hardened = count > 1 && strcmp(arguments[1], "secure") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usable_size_of_null_is_zero),
        cmocka_unit_test(good_size_is_what_malloc_gives),
        cmocka_unit_test(good_size_is_monotonic),
        cmocka_unit_test(mallinfo_follows_large_objects),
        cmocka_unit_test(mallinfos_numbers_fit_together),
        cmocka_unit_test(malloc_info_is_xml),
        cmocka_unit_test(malloc_info_tells_of_a_full_device),
        cmocka_unit_test(malloc_info_refuses_unknown_options),
        cmocka_unit_test(malloc_stats_goes_to_standard_error),
        cmocka_unit_test(trim_gives_memory_back),
        cmocka_unit_test(mallopt_knows_the_platforms_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
