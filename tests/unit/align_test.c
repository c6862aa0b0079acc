/* align_test.c - rounding to powers of two against division. */
#include "unit.h"

#include "base/align.h"

static void rounding_gives_the_multiples_on_both_sides(void **state) {
    (void)state;
    for (uintptr_t unit = 1; unit <= 64; unit *= 2)
        for (uintptr_t value = 0; value <= 4 * 64; value++) {
            assert_int_equal(align_down(value, unit), value / unit * unit);
            assert_int_equal(align_up(value, unit), (value + unit - 1) / unit * unit);
        }
}

static void the_highest_values_keep_all_bits(void **state) {
    (void)state;
    const uintptr_t last = UINTPTR_MAX - (GRANULE_SIZE - 1);
    assert_true(align_down(UINTPTR_MAX, GRANULE_SIZE) == last && align_up(last - 1, GRANULE_SIZE) == last);
    assert_true(align_up(last, GRANULE_SIZE) == last && align_up(last + 1, GRANULE_SIZE) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_gives_the_multiples_on_both_sides),
        cmocka_unit_test(the_highest_values_keep_all_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
