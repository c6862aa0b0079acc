/* mallopt_test.c - what Android's bionic and OpenHarmony's musl expect of mallopt and mallinfo, by their headers,
 * documents and tests (docs/platforms.md). The argument is the build: release or secure. */
#include "conformance.h"

static bool hardened;

/* By number, since no system has all of their names. */
struct expectation {
    int parameter, value, plain, secure;
};

static const struct expectation expectations[] = {
    /* bionic: decay time, the three purges, statistics return 1 */
    {-100, -1, 1, 1},
    {-100, 1, 1, 1},
    {-100, 0, 1, 1},
    {-100, 2, 0, 0},
    {-101, 0, 1, 1},
    {-104, 0, 1, 1},
    {-105, 0, 1, 1},
    {-205, 0, 1, 1},
    /* bionic: tags are tuned only where there are some, else ignored; only what is so already can be asked for */
    {-102, 0, 1, 1},
    {-102, 1, 1, 1},
    {-102, 2, 0, 0},
    {-103, 0, 1, 1},
    {-103, 1, 1, 0},
    {-200, 100, 0, 0},
    {-201, 2 << 20, 0, 0},
    {-202, 8, 0, 0},
    {-203, 1, 1, 1},
    {-103, 1, 0, 0},
    {-203, 0, 1, 0},
    {-103, 1, 1, 0},
    {-204, 0, 1, 1},
    {-204, 1, 0, 0},
    {-204, 3, 0, 0},
    /* OpenHarmony: thread caches, delayed free, modes */
    {-1001, 1, 1, 1},
    {-1001, 0, 0, 0},
    {-1002, 0, 1, 1},
    {-1003, 0, 1, 0},
    {-1003, 1, 0, 1},
    {-1004, 100, 0, 0},
    {-1004, 103, 0, 0},
    /* OpenHarmony: security */
    {-1005, 10, 1, 0},
    {-1005, 11, 0, 0},
    {-1005, 12, 0, 1},
    {-1006, 1, 1, 1},
    {-1006, 0, 0, 0},
    {-1007, 1, 0, 0},
    {-1008, 1, 0, 1},
    {-1009, 1, 0, 1},
    {-1010, 1, 0, 1},
    {-1011, 1, 0, 1},
    {-1012, 1, 0, 1},
    {-1012, 0, 1, 0},
    {-1013, 1 << 20, 0, 0},
    {-1014, 4096, 0, 0},
    {-1015, 1, 0, 0},
    /* what nobody has */
    {-1000, 1, 0, 0},
    {-1016, 1, 0, 0},
    {-206, 1, 0, 0},
};

static void every_number_has_its_answer(void **state) {
    (void)state;
    for (unsigned i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        const struct expectation *wanted = &expectations[i];
        errno = 0;
        int answer = mallopt(wanted->parameter, wanted->value);
        if (answer != (hardened ? wanted->secure : wanted->plain))
            printf("mallopt(%d, %d): %d\n", wanted->parameter, wanted->value, answer);
        assert_int_equal(answer, hardened ? wanted->secure : wanted->plain);
        assert_int_equal(errno, 0); /* bionic's test asks for that */
    }
    assert_int_equal(mallopt(-100, 1), 1);
}

static size_t in_use(void) {
    return mallinfo2().uordblks;
}

/* Whether the objects in use grow by the usable size of one of 50 new objects. */
static void check_growth(size_t size) {
    void *objects[50] = {NULL};
    bool grew = false;
    for (unsigned i = 0; i < 50 && !grew; i++) {
        size_t before = in_use();
        objects[i] = malloc(size);
        assert_non_null(objects[i]);
        grew = in_use() >= before + malloc_usable_size(objects[i]);
    }
    for (unsigned i = 0; i < 50; i++) free(objects[i]);
    if (!grew) printf("%zu bytes: mallinfo does not grow\n", size);
    assert_true(grew);
}

static void mallinfo_grows_for_every_size(void **state) {
    (void)state;
    static const size_t sizes[] = {8, 32, 128, 4096, 32768, 131072, 1024000, 10240000, 20480000, 300000000};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) check_growth(sizes[i]);
}

/* OpenHarmony: the calling thread's freed objects leave its cache, so that all of their memory can go back. */
static void a_flush_keeps_what_is_in_use(void **state) {
    (void)state;
    enum { OBJECTS = 1000, SIZE = 100 };
    static unsigned char *objects[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = malloc(SIZE);
        assert_non_null(objects[i]);
        memset(objects[i], (int)(i & 0xff), SIZE);
    }
    for (unsigned i = 0; i < OBJECTS; i += 2) free(objects[i]);
    assert_int_equal(mallopt(-1002, 0), 1);
    for (unsigned i = 1; i < OBJECTS; i += 2) {
        for (unsigned at = 0; at < SIZE; at++) assert_int_equal(objects[i][at], i & 0xff);
        free(objects[i]);
    }
    assert_int_equal(mallopt(-1002, 0), 1);
}

int main(int argc, char **argv) {
    hardened = argc > 1 && strcmp(argv[1], "secure") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_has_its_answer),
        cmocka_unit_test(mallinfo_grows_for_every_size),
        cmocka_unit_test(a_flush_keeps_what_is_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
