/* mapping_cache_test.c - mappings that wait for the next huge object go, though the OS refuses to unmap them. */
#include "unit.h"

#include "backend/huge.h"
#include "backend/mapping_cache.h"

enum { HUGE_SIZE = 5 << 20 };

/* Its memory goes at once, its addresses when the OS takes them. */
static void a_refused_mapping_is_emptied_and_offered_again(void **state) {
    (void)state;
    start_backend();
    options = default_options;
    char *object = huge_allocate(HUGE_SIZE, 1, NULL);
    memset(object, 1, HUGE_SIZE);
    size_t with = sim_reserved();
    huge_free(object);
    assert_true(mapping_cache_bytes() >= HUGE_SIZE);
    sim_fail_only(SIM_UNMAP);
    sim_fail_after(0);
    thrift_purge();
    assert_int_equal(mapping_cache_bytes(), 0);
    assert_int_equal(mapping_cache_addresses(), 0);
    assert_int_equal(free_granules(MAPPED), 0);
    assert_true(sim_is_zero(object + GRANULE_SIZE, HUGE_SIZE - GRANULE_SIZE));
    assert_int_equal(sim_reserved(), with);
    char *other = huge_allocate(HUGE_SIZE, 1, NULL); /* not what the OS may take at any moment */
    assert_true(other != object);
    size_t with_both = sim_reserved(); /* also another table of the directory, if the addresses need one */
    sim_fail_after(SIM_NEVER);
    huge_free(other);
    thrift_purge();
    thrift_purge();
    assert_true(sim_reserved() <= with_both - 2 * HUGE_SIZE);
}

/* A size that no mapping can have leaves the object as it is. */
static void an_impossible_size_changes_nothing(void **state) {
    (void)state;
    start_backend();
    options = default_options;
    char *object = huge_allocate(HUGE_SIZE, 1, NULL);
    memset(object, 1, HUGE_SIZE);
    assert_null(huge_resize(object, SIZE_MAX - 1));
    assert_int_equal(huge_usable_size(object), HUGE_SIZE);
    assert_int_equal(memcmp(object, object + 1, HUGE_SIZE - 1), 0);
    huge_free(object);
    thrift_purge();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_mapping_is_emptied_and_offered_again),
        cmocka_unit_test(an_impossible_size_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
