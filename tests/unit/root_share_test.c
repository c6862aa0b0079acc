/* root_share_test.c - how many of the roots that go wait as spare ones, and which, as ranges come back; and who may
 * make roots. */
#include "unit.h"

#include "backend/backend.h"
#include "backend/large_object.h"
#include "backend/range_fetch.h"
#include "backend/root.h"

static bool may_serve_large = true; /* false: half of the window is in use */
bool __wrap_root_may_serve_large(void);

bool __wrap_root_may_serve_large(void) {
    return may_serve_large;
}

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

static bool zeroed;

static void *allocate_large(void) {
    return large_allocate(ROOT_SIZE / 2, 1, &zeroed);
}

/* Where half of the window is in use, large objects get what is free in the roots, with its pages or not. They make no
 * root, take no cached memory from others, and drive none out: a mapping of its own serves them. */
static void large_objects_leave_the_window_to_small_ones(void **state) {
    (void)state;
    void *objects[3];
    start_backend();
    may_serve_large = false;
    assert_null(allocate_large());
    assert_int_equal(root_count(), 0);
    may_serve_large = true;
    for (unsigned i = 0; i < 2; i++) assert_non_null(objects[i] = allocate_large());
    assert_int_equal(root_count(), 1);
    may_serve_large = false;
    for (unsigned unmapped = 0; unmapped < 2; unmapped++) {
        large_free(objects[1]);
        if (unmapped) thrift_purge();
        size_t cached = free_granules(MAPPED);
        assert_int_equal(cached, unmapped ? 0 : ROOT_GRANULES / 2);
        assert_non_null(objects[1] = allocate_large());
        assert_int_equal(zeroed, unmapped);
        assert_int_equal(free_granules(MAPPED) + free_granules(UNMAPPED), 0);
        assert_int_equal(root_count(), 1);
    }
    assert_null(allocate_large());
    granule_id small = granule_of(backend_fetch(FOR_SMALL_SLABS, ROOT_GRANULES / 2, &zeroed));
    assert_int_equal(root_count(), 2);
    large_free(objects[0]);
    granule_id all = granule_of(objects[0]);
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES / 2);
    assert_null(large_allocate(ROOT_SIZE, 1, &zeroed)); /* gives nothing back for it */
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES / 2);
    assert_int_equal(root_count(), 2);
    may_serve_large = true;
    assert_non_null(objects[2] = large_allocate(ROOT_SIZE, 1, &zeroed));
    assert_int_equal(root_count(), 3);
    assert_int_not_equal(granule_of(objects[2]), all);
    backend_place(small);
    for (unsigned i = 1; i < 3; i++) large_free(objects[i]);
    thrift_purge();
    assert_int_equal(root_count(), 0);
}

/* Where no root can be made, a large object at last gives back what is cached; a slab leaves it for others. */
static void only_the_last_effort_gives_back(void **state) {
    (void)state;
    start_backend();
    void *kept = allocate_large();
    large_free(allocate_large());
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES / 2);
    sim_fail_only(SIM_RESERVE);
    sim_fail_after(0);
    assert_null(backend_fetch(FOR_SMALL_SLABS, ROOT_GRANULES, &zeroed));
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES / 2);
    assert_null(large_allocate(ROOT_SIZE, 1, &zeroed));
    assert_int_equal(free_granules(MAPPED), 0);
    assert_int_equal(free_granules(UNMAPPED), ROOT_GRANULES / 2);
    sim_fail_after(SIM_NEVER);
    sim_fail_only(~0u);
    large_free(kept);
    thrift_purge();
    assert_int_equal(root_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_of_the_clean_roots_waits),
        cmocka_unit_test(large_objects_leave_the_window_to_small_ones),
        cmocka_unit_test(only_the_last_effort_gives_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
