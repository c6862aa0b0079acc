/* headroom_test.c - what happens with cached memory where memory without pages comes into use. */
#include "backend/range_fetch.h"
#include "thrift_world.h"

/* A root comes into use without pages. What waits must go back for it: both together are hardly more than what was in
 * use before. */
static void what_waits_gives_way(void **state) {
    (void)state;
    granule_id parts[PARTS];
    scatter(parts);
    granule_id whole = fetch(ROOT_GRANULES);
    assert_int_equal(free_granules(MAPPED), 0);
    assert_int_equal(thrift_counters.given_back, ROOT_GRANULES / 2 * GRANULE_SIZE);
    backend_place(whole);
    give_scattered_back(parts);
}

/* A request of 2 * PART granules, where a range of `small` granules waits beside those of PART. Returns the bytes that
 * have gone back, and whether those of the small range are among them. */
static size_t given_for_request(uint32_t small, bool *small_too) {
    granule_id parts[PARTS], rest[PARTS];
    unsigned rests = 0;
    watermark_age_peak();
    watermark_age_peak(); /* no peak of an earlier test */
    scatter(parts);
    while (knit_weight(parts[1]) > small) rest[rests++] = knit_split(parts[1], small);
    for (unsigned i = 0; i < rests; i++) leaf_set(rest[i], leaf_held());
    backend_place(parts[1]);
    granule_id whole = fetch(2 * PART); /* 8 % of the peak may wait beside it */
    *small_too = !is_dirty(parts[1]);
    size_t given_back = thrift_counters.given_back;
    backend_place(whole);
    for (unsigned i = 0; i < rests; i++) backend_place(rest[i]);
    parts[1] = 0;
    give_scattered_back(parts);
    return given_back;
}

/* As large ones serve more requests. */
static void the_smallest_ranges_go_first(void **state) {
    (void)state;
    enum { SMALL_PART = PART / 2 };
    bool small_too;
    assert_int_equal(given_for_request(SMALL_PART, &small_too), (PART + SMALL_PART) * GRANULE_SIZE);
    assert_true(small_too);
}

/* As many small ones would need many calls of the OS. */
static void ranges_much_smaller_than_the_request_go_last(void **state) {
    (void)state;
    enum { SMALL_PART = 2 * PART / HEADROOM_PART };
    bool small_too;
    assert_int_equal(given_for_request(SMALL_PART, &small_too), 2 * PART * GRANULE_SIZE);
    assert_false(small_too);
}

/* Only small ranges wait, and more of them should go. A thread does not give back many at once. */
static void one_request_gives_few_ranges_back(void **state) {
    (void)state;
    enum { REQUEST = 128, MOST = HEADROOM_RANGES + REQUEST / HEADROOM_GRANULES, SINGLES = 8 * MOST };
    granule_id singles[SINGLES];
    start();
    watermark_age_peak();
    watermark_age_peak(); /* no peak of an earlier test */
    options.cache_min = ROOT_SIZE;
    for (unsigned i = 0; i < SINGLES; i++) singles[i] = fetch(1);
    watermark_note_peak();
    for (unsigned i = 0; i < SINGLES; i += 2) backend_place(singles[i]);
    options.cache_min = 0;
    assert_int_equal(thrift_counters.given_back, 0);
    granule_id more = fetch(REQUEST);
    assert_int_equal(thrift_counters.given_back, MOST * GRANULE_SIZE);
    backend_place(more);
    for (unsigned i = 1; i < SINGLES; i += 2) backend_place(singles[i]);
    backend_place(a);
    backend_place(b);
    finish();
}

/* Other threads are about to join or take the smallest ranges: Knit's half of these is theirs. */
static void ranges_in_other_hands_are_passed_over(void **state) {
    (void)state;
    enum { CLASSES_HELD = 4 };
    granule_id parts[PARTS], small[CLASSES_HELD], between[CLASSES_HELD];
    scatter(parts);
    for (unsigned i = 0; i < CLASSES_HELD; i++) {
        small[i] = fetch(1 + i);
        between[i] = fetch(1);
    }
    watermark_age_peak();
    watermark_age_peak();
    watermark_note_peak();
    for (unsigned i = 0; i < CLASSES_HELD; i++) {
        range_place(small[i], MAPPED);
        CHECK(knit_acquire(small[i]) != IN_USE);
    }
    granule_id whole = fetch(ROOT_GRANULES);
    for (unsigned i = 0; i < CLASSES_HELD; i++) CHECK(knit_release(small[i], MAPPED));
    assert_true(free_granules(MAPPED) <= 1 + 2 + 3 + 4);
    for (unsigned i = 0; i < CLASSES_HELD; i++) backend_place(between[i]);
    backend_place(whole);
    give_scattered_back(parts);
}

static granule_id fetch_large(uint32_t weight) {
    bool zeroed;
    granule_id range = range_fetch(FOR_OTHER_RANGES, weight, FETCH_WITH_ROOT, &zeroed);
    if (!zeroed) zeroed = *granule_address(range) == 0;
    CHECK(range && zeroed == (*granule_address(range) == 0));
    memset(granule_address(range), 0xa5, weight * GRANULE_SIZE);
    return range;
}

enum { QUARTERS = 4, QUARTER = ROOT_GRANULES / QUARTERS, EIGHTH = QUARTER / 2 };

static void place_as(granule_id range, uint32_t weight, enum slot_code state) {
    if (state == UNMAPPED) give_back_and_place(range, weight, false);
    else if (state == MAPPED) range_place(range, MAPPED);
}

/* A quarter of a root waits, and two eighths behind it are in these states. What a request of `eighths` gets, and that
 * `unmapped` granules less are without pages, and `mapped` more have them. Nothing goes back. */
static void joins(const enum slot_code behind[2], unsigned halves, uint32_t unmapped, uint32_t mapped) {
    granule_id parts[QUARTERS];
    const uint32_t request = halves * (EIGHTH / 2);
    start();
    options.cache_min = ROOT_SIZE;
    backend_place(fetch_large(ROOT_GRANULES));
    for (unsigned i = 0; i < QUARTERS; i++) parts[i] = fetch_large(QUARTER);
    assert_true(parts[3] == parts[2] + QUARTER && knit_weight(parts[2]) == QUARTER);
    granule_id eighths[] = {parts[3], knit_split(parts[3], EIGHTH)};
    for (unsigned i = 0; i < 2; i++) leaf_set(eighths[i], leaf_held());
    leaf_set(parts[2], leaf_held());
    assert_int_equal(free_granules(MAPPED), 0);
    options.cache_min = 0;
    watermark_age_peak();
    watermark_age_peak(); /* no peak of an earlier test */
    watermark_note_peak();
    for (unsigned i = 2; i-- > 0;) place_as(eighths[i], EIGHTH, behind[i]);
    range_place(parts[2], MAPPED);
    size_t given_back = thrift_given_back(), was = free_granules(UNMAPPED);
    granule_id range = fetch_large(request);
    assert_int_equal(range, parts[2]);
    assert_int_equal(knit_weight(range), request);
    assert_int_equal(free_granules(UNMAPPED), was - unmapped);
    assert_int_equal(free_granules(MAPPED), mapped);
    assert_int_equal(thrift_given_back(), given_back);
    if (behind[1] == IN_USE) backend_place(eighths[1]);
    for (unsigned i = 0; i < 3; i++) backend_place(parts[i]);
    backend_place(a);
    backend_place(b);
    finish();
}

/* A range of the cache and free memory behind it, without pages or with them, serve a request together. So a part of
 * the object has its pages, and nothing goes back for it. In growth, new memory is used. */
static void what_waits_serves_with_what_is_behind(void **state) {
    (void)state;
    joins((enum slot_code[]){UNMAPPED, UNMAPPED}, 6, EIGHTH, 0);
    joins((enum slot_code[]){UNMAPPED, UNMAPPED}, 8, QUARTER, 0);
    joins((enum slot_code[]){UNMAPPED, IN_USE}, 6, EIGHTH, 0);
    joins((enum slot_code[]){UNMAPPED, IN_USE}, 5, EIGHTH / 2, 0);
    joins((enum slot_code[]){UNMAPPED, MAPPED}, 7, EIGHTH, EIGHTH / 2); /* the rest has its pages */
    joins((enum slot_code[]){MAPPED, UNMAPPED}, 8, EIGHTH, 0);
    joins((enum slot_code[]){MAPPED, UNMAPPED}, 7, EIGHTH / 2, 0);
}

/* While more and more is in use, heaps keep few empty slabs. A round ends that, and so does memory that was in use. */
static void growth_is_told_from_use_below_the_peak(void **state) {
    (void)state;
    enum { MORE = 8 }; /* roots: more than any other test has in use */
    granule_id many[MORE + 1];
    start();
    for (unsigned i = 0; i < MORE; i++) many[i] = fetch(ROOT_GRANULES);
    assert_true(thrift_is_at_peak());
    for (unsigned i = 0; i < MORE; i++) backend_place(many[i]);
    thrift_purge();
    many[0] = fetch(ROOT_GRANULES); /* without pages, but as much was in use a moment ago */
    assert_false(thrift_is_at_peak());
    for (unsigned i = 1; i <= MORE; i++) many[i] = fetch(ROOT_GRANULES);
    assert_true(thrift_is_at_peak());
    for (unsigned i = 0; i <= MORE; i++) backend_place(many[i]);
    run_thread();
    assert_false(thrift_is_at_peak());
    backend_place(a);
    backend_place(b);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_gives_way),
        cmocka_unit_test(the_smallest_ranges_go_first),
        cmocka_unit_test(ranges_much_smaller_than_the_request_go_last),
        cmocka_unit_test(one_request_gives_few_ranges_back),
        cmocka_unit_test(ranges_in_other_hands_are_passed_over),
        cmocka_unit_test(what_waits_serves_with_what_is_behind),
        cmocka_unit_test(growth_is_told_from_use_below_the_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
