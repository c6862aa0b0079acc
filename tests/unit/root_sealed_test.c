/* root_sealed_test.c - sealed roots in a window of eight slots: they count as roots no more, but keep their slots. */
#include "unit.h"

#include "backend/root.h"

/* One seal after the other fills the window. */
static void each_seal_takes_slots(void **state) {
    (void)state;
    start_backend();
    assert_int_equal(page_map_slots(), 8);
    for (size_t left = page_map_slots() - 1; left > 0; left--) {
        assert_false(root_window_is_full());
        assert_true(root_create(FOR_OTHER_RANGES) && root_count() == 1);
        root_forget_sealed();
        assert_int_equal(root_count(), 0);
    }
    assert_true(root_window_is_full());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_seal_takes_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
