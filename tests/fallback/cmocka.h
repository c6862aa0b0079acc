/* cmocka.h - the few names of cmocka that our tests use, for cross builds, where the real one is not installed.
 *
 * A failed assertion ends the program at once; the ordinary build uses the real cmocka and reports every test.
 */
#ifndef JW_TESTS_FALLBACK_CMOCKA_H
#define JW_TESTS_FALLBACK_CMOCKA_H

#include "../check.h"

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
};

#define cmocka_unit_test(function)                                                                                     \
    { #function, function }
#define assert_true(condition) CHECK(condition)
#define assert_false(condition) CHECK(!(condition))
#define assert_null(pointer) CHECK((pointer) == NULL)
#define assert_non_null(pointer) CHECK((pointer) != NULL)
#define assert_ptr_equal(left, right) CHECK((left) == (right))
#define assert_int_equal(left, right) CHECK((left) == (right))
#define assert_int_not_equal(left, right) CHECK((left) != (right))
#define assert_string_equal(left, right) CHECK(strcmp(left, right) == 0)
#define skip() return
#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run_all(tests, sizeof(tests) / sizeof *(tests))

static inline int cmocka_run_all(const struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; i++) {
        void *state = NULL;
        printf("[ RUN      ] %s\n", tests[i].name);
        tests[i].test(&state);
    }
    return 0;
}

#endif
