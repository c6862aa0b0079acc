/* midend_pages_test.c - rounds give back the pages of free objects in mid slabs that are left alone. */
#include "midend_unit.h"

/* What another thread does while a round gives pages back, once. */
static void (*meanwhile)(void);
wide_bool __real_platform_discard(void *start, size_t size);
wide_bool __wrap_platform_discard(void *start, size_t size);

wide_bool __wrap_platform_discard(void *start, size_t size) {
    void (*step)(void) = meanwhile;
    meanwhile = NULL;
    if (step) step();
    return __real_platform_discard(start, size);
}

static size_t given_back(void) {
    return atomic_load(&thrift_counters.given_back);
}

/* Bytes of a slab's pages on which only free objects lie. `look`: whether these are as given back. */
static size_t free_pages(const char *slab, unsigned class, uint32_t free, bool look) {
    size_t page = platform_page_size(), size = mid_shapes[class].size, bytes = 0;
    for (size_t at = 0; at + page <= mid_shapes[class].count * size; at += page) {
        bool is_free = true;
        for (size_t i = at / size; i <= (at + page - 1) / size; i++) is_free &= free >> i & 1;
        if (!is_free) continue;
        bytes += page;
        for (size_t i = 0; look && i < page; i++)
            CHECK((unsigned char)slab[at + i] == (unsigned char)(JW_FILL ? FILL_BYTE : 0));
    }
    return bytes;
}

static void check_rest(char *objects[MOST_OBJECTS], unsigned class, uint32_t free) {
    for (unsigned i = 0; i < mid_shapes[class].count; i++)
        CHECK(free >> i & 1 || pattern_holds(objects[i], mid_shapes[class].size, i));
}

/* Which pages go back in a slab that two rounds find as it is: any set of free objects, in any class. */
static void discard_in(unsigned class, uint32_t free) {
    char *objects[MOST_OBJECTS];
    granule_id slab = fill_slab(objects, class);
    size_t before = given_back();
    for (unsigned i = 0; i < mid_shapes[class].count; i++)
        if (free >> i & 1) midend_free(NULL, objects[i]);
    CHECK(midend_round(false) && given_back() == before && word(slab) == (MID_LISTED | MID_SEEN | free));
    CHECK(!midend_round(false) && word(slab) == (MID_LISTED | MID_GIVEN_BACK | MID_SEEN | free));
    CHECK(given_back() - before == free_pages(objects[0], class, free, true));
    check_rest(objects, class, free);
    CHECK(!midend_round(false) && !midend_round(true) &&
          given_back() - before == free_pages(objects[0], class, free, false));
    char *again = midend_allocate(NULL, mid_shapes[class].size, 1);
    CHECK(again == objects[__builtin_ctz(free)] && !(word(slab) & (MID_SEEN | MID_GIVEN_BACK)));
    midend_free(NULL, again);
    for (unsigned i = 0; i < mid_shapes[class].count; i++)
        if (!(free >> i & 1)) midend_free(NULL, objects[i]);
    midend_round(false);
    CHECK(mid_slab_counts[class] == 0);
}

static void free_pages_go_back(void **state) {
    (void)state;
    start();
    uint64_t randomness = 1;
    for (unsigned class = 0; class < mid_class_count; class ++) {
        uint32_t all = mid_all_free(class);
        for (unsigned tries = 0; tries < 64; tries++) {
            uint32_t free = all <= 64 ? tries & all : (uint32_t)random_below(&randomness, all);
            if (free != 0 && free != all) discard_in(class, free);
        }
    }
    finish();
}

/* What is freed or allocated between two rounds puts the slab's pages off; a purge does not wait. */
static void slabs_in_use_keep_their_pages(void **state) {
    (void)state;
    start();
    unsigned class = mid_class_count - 1, size = mid_shapes[class].size;
    char *objects[MOST_OBJECTS];
    granule_id slab = fill_slab(objects, class);
    size_t before = given_back();
    midend_free(NULL, objects[0]);
    assert_true(midend_round(false));
    midend_free(NULL, objects[1]);
    assert_int_equal(word(slab), MID_LISTED | 3);
    assert_true(midend_round(false));
    assert_ptr_equal(midend_allocate(NULL, size, 1), objects[0]);
    assert_int_equal(word(slab), MID_LISTED | 2);
    assert_true(midend_round(false));
    assert_ptr_equal(allocate_held(size), objects[1]); /* it was the last: no thread holds the slab */
    midend_free(NULL, objects[0]);
    assert_ptr_equal(allocate_held(size), objects[0]);
    midend_free(NULL, objects[0]);
    midend_free(NULL, objects[1]);
    assert_ptr_equal(allocate_held(size), objects[0]);
    midend_free(NULL, objects[2]);
    assert_false(midend_round(false) || midend_round(false) || midend_round(true)); /* held */
    assert_int_equal(given_back(), before);
    midend_drain(caches);
    assert_int_equal(word(slab), MID_LISTED | 6);
    assert_false(midend_round(true));
    assert_int_equal(given_back() - before, free_pages(objects[0], class, 6, true));
    midend_free(NULL, objects[0]);
    midend_free(NULL, objects[3]);
    for (unsigned i = 4; i < mid_shapes[class].count; i++) midend_free(NULL, objects[i]);
    finish();
}

/* Fills a slab, and frees its second object. *before: the bytes given back until then. */
static granule_id fill_slab_but_one(char **objects, unsigned class, size_t *before) {
    start();
    granule_id slab = fill_slab(objects, class);
    *before = given_back();
    midend_free(NULL, objects[1]);
    return slab;
}

static void refused_discards_lose_nothing(void **state) {
    (void)state;
    char *objects[MOST_OBJECTS];
    unsigned class = mid_class_count - 1;
    size_t before;
    granule_id slab = fill_slab_but_one(objects, class, &before);
    assert_true(midend_round(false));
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    assert_true(midend_round(false) && midend_round(false) && midend_round(true));
    assert_int_equal(word(slab), MID_LISTED | MID_SEEN | 2);
    assert_int_equal(given_back(), before);
    check_rest(objects, class, 2);
    sim_fail_after(SIM_NEVER);
    assert_false(midend_round(false));
    assert_int_equal(given_back() - before, free_pages(objects[0], class, 2, true));
    for (unsigned i = 0; i < mid_shapes[class].count; i++)
        if (i != 1) midend_free(NULL, objects[i]);
    finish();
}

static char *freed_meanwhile;

static void free_meanwhile(void) {
    midend_free(NULL, freed_meanwhile);
}

/* The thread that frees finds the slab listed, and asks for nothing: the round must ask for the next one. */
static void a_free_into_the_slab_is_seen_by_another_round(void **state) {
    (void)state;
    char *objects[MOST_OBJECTS];
    unsigned class = mid_class_count - 1;
    size_t before;
    granule_id slab = fill_slab_but_one(objects, class, &before);
    freed_meanwhile = objects[3];
    meanwhile = free_meanwhile;
    assert_true(midend_round(true));
    assert_int_equal(word(slab), MID_LISTED | 10);
    assert_true(midend_round(false)); /* seen */
    assert_false(midend_round(false));
    assert_int_equal(word(slab), MID_LISTED | MID_GIVEN_BACK | MID_SEEN | 10);
    assert_int_equal(given_back() - before,
                     free_pages(objects[0], class, 10, true) + free_pages(objects[0], class, 2, true));
    for (unsigned i = 0; i < mid_shapes[class].count; i++)
        if (i != 1 && i != 3) midend_free(NULL, objects[i]);
    finish();
}

/* Into a page that has been given back. */
static void write_after_free(void) {
    char *objects[MOST_OBJECTS];
    unsigned class = mid_class_count - 1;
    fill_slab(objects, class);
    midend_free(NULL, objects[0]);
    midend_round(true);
    objects[0][100] = 0;
    midend_allocate(NULL, mid_shapes[class].size, 1);
}

static void writes_after_free_are_told(void **state) {
    (void)state;
    start();
    if (JW_FILL) expect_abort(write_after_free, "jwmalloc: write after free: address 0x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_pages_go_back),
        cmocka_unit_test(slabs_in_use_keep_their_pages),
        cmocka_unit_test(refused_discards_lose_nothing),
        cmocka_unit_test(a_free_into_the_slab_is_seen_by_another_round),
        cmocka_unit_test(writes_after_free_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
