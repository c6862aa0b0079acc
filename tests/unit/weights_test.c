/* weights_test.c - the arithmetic of S(3) against the list of its members. */
#include "unit.h"

#include "backend/weights.h"

/* Members by the definition: n * 2^m, n from 1 to 8. */
static bool is_member(uint32_t weight) {
    while (weight > 8 && weight % 2 == 0) weight /= 2;
    return weight >= 1 && weight <= 8;
}

static void classes_are_the_members_in_order(void **state) {
    (void)state;
    unsigned class = 0;
    for (uint32_t weight = 1; weight <= ROOT_GRANULES; weight++) {
        if (!is_member(weight)) continue;
        assert_int_equal(class_of_weight(weight), class);
        assert_int_equal(weight_of_class(class), weight);
        class ++;
    }
    assert_int_equal(class, RANGE_CLASSES);
}

static void rounding_up_gives_the_next_member(void **state) {
    (void)state;
    uint32_t next = ROOT_GRANULES;
    for (uint32_t weight = ROOT_GRANULES; weight >= 1; weight--) {
        if (is_member(weight)) next = weight;
        assert_int_equal(weight_round_up(weight), next);
    }
}

static void units_are_the_finest_and_the_coarsest(void **state) {
    (void)state;
    for (uint32_t weight = 1; weight <= ROOT_GRANULES; weight++) {
        if (!is_member(weight)) continue;
        unsigned finest = 31, coarsest = 0;
        for (unsigned unit = 0; unit < 31; unit++) {
            uint32_t slots = weight >> unit;
            if (slots << unit != weight || slots < 1 || slots > 8) continue;
            if (finest == 31) finest = unit;
            coarsest = unit;
        }
        assert_int_equal(finest_unit(weight), finest);
        assert_int_equal(coarsest_unit(weight), coarsest);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_the_members_in_order),
        cmocka_unit_test(rounding_up_gives_the_next_member),
        cmocka_unit_test(units_are_the_finest_and_the_coarsest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
