/* root_share_test.c - how many of the roots that go wait as spare ones, and which, as ranges come back. */
#include "unit.h"

#include "backend/backend.h"
#include "backend/range_fetch.h"

/* Roots that go while others are made wait for the next ones: a quarter, and none whose pages the OS has refused. */
static void a_quarter_of_the_clean_roots_waits(void **state) {
    (void)state;
    enum { MANY = 9 };
    granule_id roots[MANY];
    start_backend();
    for (unsigned i = 0; i < MANY; i++) {
        bool zeroed;
        roots[i] = granule_of(backend_fetch(FOR_OTHER_RANGES, ROOT_GRANULES, &zeroed));
    }
    root_unmap_spares();
    size_t mapped = sim_reserved();
    memset(granule_address(roots[MANY - 1]), 1, ROOT_SIZE);
    assert_int_equal(range_place_refused(roots[MANY - 1], ROOT_GRANULES, true), 0);
    assert_true(root_spares() == 0 && sim_reserved() == mapped - ROOT_SIZE);
    for (unsigned i = MANY - 1; i-- > 0;) range_place_known(roots[i], ROOT_GRANULES, UNMAPPED);
    assert_true(root_count() == 0 && root_spares() == (MANY - 1) / 4);
    assert_int_equal(sim_reserved(), mapped - (MANY - (MANY - 1) / 4) * ROOT_SIZE);
    thrift_purge();
    assert_int_equal(root_spares(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_of_the_clean_roots_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
