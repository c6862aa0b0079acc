/* os_pages_test.c - Thrift where the kernel's pages are larger than granules: which of them go back, and when. */
#include "backend/give_back.h"
#include "backend/headroom.h"
#include "thrift_world.h"

enum { PAGE = 8 }; /* granules */

/* Neighbours in the tree, which are held. */
static granule_id parts[PAGE];

static void start_page(unsigned page) {
    start_backend();
    sim_reset();
    sim_set_page_size(page * GRANULE_SIZE);
    assert_true(page_map_start());
    options = default_options;
    give_back_take_refusal();
    memset(&thrift_counters, 0, sizeof thrift_counters);
    granule_id first = fetch(PAGE);
    assert_int_equal(first % PAGE, 0);
    knit_split_all(first, PAGE);
    for (unsigned i = 0; i < PAGE; i++) leaf_set(parts[i] = first + i, leaf_held());
}

static void purge_parts(unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) backend_place(parts[i]);
    thrift_purge();
}

static void give_all_back(void) {
    assert_int_equal(ownership.cached[0], 0);
    assert_int_equal(ownership.cached[1], 0);
    assert_int_equal(root_count(), 0);
}

/* Parts of a page stay mapped until the whole page is free. */
static void parts_of_pages_stay(void **state) {
    (void)state;
    start_page(4);
    backend_place(parts[1]);
    assert_int_equal(thrift_purge(), 0);
    assert_int_equal(free_granules(MAPPED), 1);
    assert_true(is_dirty(parts[1]) && is_dirty(parts[2]));
    purge_parts(0, 1);
    assert_int_equal(thrift_counters.given_back, 0);
    purge_parts(2, 4);
    assert_false(is_dirty(parts[0]) || is_dirty(parts[3]));
    assert_true(is_dirty(parts[4]));
    assert_int_equal(thrift_counters.given_back, 4 * GRANULE_SIZE);
    purge_parts(4, PAGE);
    give_all_back();
}

/* Two ranges without pages have a page in common that neither has as a whole: it goes back with the second one. */
static void a_page_goes_with_its_last_part(void **state) {
    (void)state;
    start_page(2);
    purge_parts(0, 3);
    assert_true(!is_dirty(parts[1]) && is_dirty(parts[2]));
    assert_int_equal(free_granules(UNMAPPED) % PAGE, 3);
    purge_parts(3, 6);
    for (unsigned i = 0; i < 6; i++) assert_false(is_dirty(parts[i]));
    assert_true(is_dirty(parts[6]));
    assert_int_equal(thrift_counters.given_back, 6 * GRANULE_SIZE);
    purge_parts(6, PAGE);
    give_all_back();
}

/* Until then a range without pages has what it had in that page. */
static void a_part_of_a_page_is_not_zero(void **state) {
    (void)state;
    bool zeroed = true;
    start_page(2);
    purge_parts(0, 3);
    assert_ptr_equal(backend_fetch(FOR_SMALL_SLABS, 3, &zeroed), granule_address(parts[0]));
    assert_true(is_dirty(parts[2]) && !zeroed);
    backend_place(parts[0]);
    purge_parts(3, PAGE);
    give_all_back();
}

/* The same with a range on both sides, none of whose pages is whole in the middle. */
static void a_part_between_two_takes_both_pages(void **state) {
    (void)state;
    start_page(2);
    purge_parts(0, 3);
    purge_parts(5, 8);
    assert_true(is_dirty(parts[2]) && is_dirty(parts[5]));
    assert_int_equal(thrift_counters.given_back, 4 * GRANULE_SIZE);
    purge_parts(3, 5);
    give_all_back();
}

/* A part beside a range without pages joins it, though no page is whole: else it would be in the way of each join. */
static void a_part_joins_what_has_no_pages(void **state) {
    (void)state;
    start_page(2);
    purge_parts(1, 4);
    assert_int_equal(free_granules(MAPPED), 0);
    assert_true(is_dirty(parts[1]) && !is_dirty(parts[2]));
    purge_parts(4, 5);
    assert_int_equal(free_granules(MAPPED), 0);
    assert_true(is_dirty(parts[4]) && is_dirty(parts[5]));
    purge_parts(0, 1);
    assert_false(is_dirty(parts[0]) || is_dirty(parts[1]));
    assert_true(is_dirty(parts[4]) && is_dirty(parts[5]));
    purge_parts(5, PAGE);
    give_all_back();
}

/* What the kernel refuses stays mapped. */
static void a_refused_page_stays(void **state) {
    (void)state;
    start_page(2);
    purge_parts(0, 3);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    purge_parts(3, 4);
    assert_true(is_dirty(parts[2]) && free_granules(MAPPED) == 4);
    sim_fail_after(SIM_NEVER);
    thrift_purge();
    assert_false(is_dirty(parts[2]) || is_dirty(parts[3]));
    purge_parts(4, PAGE);
    give_all_back();
}

/* The smallest ranges go first. One that has no whole page does not end the search. */
static void a_part_does_not_keep_the_others(void **state) {
    (void)state;
    start_page(2);
    a = fetch(BIG);
    keeper = fetch(BIG);
    backend_place(parts[1]);
    backend_place(a);
    assert_true(is_dirty(parts[1]) && is_dirty(a));
    options.cache_min = options.cache_percent = 0;
    thrift_give_back_above_watermark(0);
    assert_true(is_dirty(parts[1]) && !is_dirty(a));
    assert_int_equal(thrift_counters.given_back, BIG * GRANULE_SIZE);
    backend_place(keeper);
    purge_parts(2, PAGE);
    purge_parts(0, 1);
    give_all_back();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_pages_stay),
        cmocka_unit_test(a_page_goes_with_its_last_part),
        cmocka_unit_test(a_part_of_a_page_is_not_zero),
        cmocka_unit_test(a_part_between_two_takes_both_pages),
        cmocka_unit_test(a_part_joins_what_has_no_pages),
        cmocka_unit_test(a_refused_page_stays),
        cmocka_unit_test(a_part_does_not_keep_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
