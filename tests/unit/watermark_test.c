/* watermark_test.c - the amounts that decide what may wait and what may be taken, to the granule and to the byte: peak,
 * watermark, headroom, limits. Other tests look at what follows from them. */
#include "backend/headroom.h"
#include "backend/huge.h"
#include "backend/limits.h"
#include "backend/mapping_cache.h"
#include "backend/watermark.h"
#include "config/policy.h"
#include "thrift_world.h"

enum { USED = 3 + 2 * BIG, HUGE_SIZE = 8 << 20 };

/* No peak of before. */
static void start_low(void) {
    start();
    options.cache_min = 0;
    watermark_age_peak();
    watermark_age_peak();
    pressure_limit = 0;
}

static void huge_granules_add(int granules) {
    huge_bytes_add(granules * (intptr_t)GRANULE_SIZE);
}

static void end_low(void) {
    options = default_options;
    atomic_store(&reclaimer->state, NO_THREAD);
    backend_place(a);
    backend_place(b);
    finish();
}

static void cached_memory_is_not_in_use(void **state) {
    (void)state;
    start_low();
    options.cache_min = (size_t)2 * HUGE_SIZE;
    struct usage usage = watermark_note_peak();
    assert_true(usage.all == USED && usage.huge == 0);
    backend_place(a);
    assert_int_equal(watermark_note_peak().all, USED - BIG);
    huge_granules_add(5);
    usage = watermark_note_peak();
    assert_true(usage.all == USED - BIG + 5 && usage.huge == 5);
    huge_granules_add(-5);
    char *mapping = huge_allocate(HUGE_SIZE, 1, NULL);
    assert_int_equal(watermark_note_peak().all, USED - BIG + HUGE_SIZE / GRANULE_SIZE);
    huge_free(mapping);
    assert_int_equal(mapping_cache_bytes(), HUGE_SIZE);
    assert_int_equal(watermark_note_peak().all, USED - BIG);
    thrift_purge();
    assert_int_equal(watermark_note_peak().all, USED - BIG);
    a = fetch(BIG);
    end_low();
}

/* Peak: the most that was noted since the round before last. */
static void check_peak(size_t peak) {
    struct usage usage = {.all = 40, .huge = 0};
    assert_false(watermark_rises(usage, peak - 40));
    assert_true(watermark_rises(usage, peak - 40 + 1));
}

static void a_peak_lasts_two_rounds(void **state) {
    (void)state;
    start_low();
    assert_true(watermark_rises((struct usage){0}, 1));
    assert_false(watermark_rises((struct usage){0}, 0));
    watermark_note_peak();
    check_peak(USED);
    huge_granules_add(10);
    check_peak(USED);
    watermark_note_peak();
    check_peak(USED + 10);
    huge_granules_add(-10);
    watermark_note_peak();
    check_peak(USED + 10);
    watermark_age_peak();
    check_peak(USED + 10);
    huge_granules_add(4);
    watermark_note_peak();
    huge_granules_add(-4);
    check_peak(USED + 10);
    watermark_age_peak();
    check_peak(USED + 4);
    watermark_age_peak();
    assert_true(watermark_rises((struct usage){0}, 1));
    end_low();
}

static size_t beside(size_t all, size_t huge) {
    return watermark_beside_new((struct usage){.all = all, .huge = huge});
}

/* Peak 231: eight percent are 18. */
static void beside_new_memory_a_share_of_the_peak_may_wait(void **state) {
    (void)state;
    start_low();
    huge_granules_add(100);
    watermark_note_peak();
    huge_granules_add(-100);
    enum { PEAK = USED + 100, SHARE = PEAK * PERCENT_BESIDE_NEW / 100 };
    assert_int_equal(beside(PEAK, 0), SHARE);
    assert_int_equal(beside(PEAK - 1, 0), SHARE + 1);
    assert_int_equal(beside(30, 0), PEAK - 30 + SHARE);
    assert_int_equal(beside(30, 20), PEAK - 30 + (PEAK - 20) * PERCENT_BESIDE_NEW / 100);
    assert_int_equal(beside(PEAK, PEAK), 0);
    assert_int_equal(beside(PEAK, PEAK + 1), 0);
    assert_int_equal(beside(PEAK + 69, 0), (PEAK + 69) * PERCENT_BESIDE_NEW / 100); /* more than the peak: 300 */
    for (size_t least = SHARE - 1; least <= SHARE + 2; least++) {
        options.cache_min = least * PART_BESIDE_NEW * GRANULE_SIZE;
        assert_int_equal(beside(30, 0), PEAK - 30 + (least > SHARE ? least : SHARE));
        options.cache_min -= 1;
        assert_int_equal(beside(30, 0), PEAK - 30 + (least - 1 > SHARE ? least - 1 : SHARE));
    }
    end_low();
}

static void frees_keep_up_to_the_watermark(void **state) {
    (void)state;
    start_low();
    options.reclaim_thread = THREAD_AUTO;
    atomic_store(&reclaimer->state, RUNNING);
    huge_granules_add(100);
    watermark_note_peak();
    huge_granules_add(-100);
    enum { PEAK = USED + 100 };
    options.cache_percent = 25;
    assert_int_equal(watermark_renew(), 100 + PEAK / 4);
    options.cache_min = (PEAK / 4 + 1) * GRANULE_SIZE;
    assert_int_equal(watermark_renew(), 100 + PEAK / 4 + 1);
    options.cache_percent = 0;
    assert_int_equal(watermark_renew(), PEAK / 4 + 1);
    options.cache_percent = 1;
    options.limit_soft = limits_committed();
    assert_int_equal(watermark_renew(), 100 + PEAK / 4 + 1);
    options.limit_soft -= 1;
    assert_true(watermark_renew() == 0 && watermark_minimum() == 0);
    options.limit_soft = 0;
    huge_granules_add(200); /* and notes the peak */
    assert_int_equal(watermark_renew(), PEAK / 4 + 1);
    options.cache_percent = 50;
    assert_int_equal(watermark_of_mappings(), watermark_renew()); /* huge objects do not count here */
    options.cache_percent = 1;
    huge_granules_add(-200);
    assert_int_equal(watermark_renew(), 200 + PEAK / 4 + 1);
    end_low();
}

/* Freed in a row: a granule less than what is in use, as much, and one more. */
static void a_share_of_nothing_is_nothing(void **state) {
    (void)state;
    start_low();
    reclaimer_forget();
    options.cache_percent = 1000;
    for (int less = 1; less >= -1; less--) {
        atomic_store(&reclaimer->state, RUNNING);
        watermark_renew(); /* forgets what was freed in a row */
        atomic_store(&reclaimer->state, NO_THREAD);
        watermark_age_peak();
        watermark_age_peak();
        huge_granules_add(USED - less);
        watermark_note_peak();
        huge_granules_add(less - USED);
        assert_int_equal(watermark_without_thread(), less > 0 ? 10 : 0);
    }
    end_low();
}

static void without_a_thread_the_minimum_may_wait(void **state) {
    (void)state;
    start_low();
    reclaimer_forget();
    options.reclaim_thread = THREAD_AUTO;
    watermark_note_peak();
    options.cache_min = 7 * GRANULE_SIZE;
    options.cache_percent = 1;
    assert_int_equal(watermark_without_thread(), 7);
    assert_int_equal(watermark_renew(), 7);
    atomic_store(&reclaimer->brief_stops, 1);
    assert_true(watermark_without_thread() == KEPT_MOST && watermark_renew() == KEPT_MOST);
    options.cache_min = (size_t)KEPT_MOST * GRANULE_SIZE + GRANULE_SIZE;
    assert_int_equal(watermark_without_thread(), KEPT_MOST + 1);
    options.cache_min = GRANULE_SIZE;
    assert_int_equal(watermark_without_thread(), KEPT_MOST);
    options.cache_percent = 0;
    assert_int_equal(watermark_without_thread(), 1);
    options.cache_percent = 1;
    assert_int_equal(watermark_without_thread(), KEPT_MOST);
    options.cache_min = GRANULE_SIZE - 1;
    assert_int_equal(watermark_without_thread(), USED / 100);
    atomic_store(&reclaimer->brief_stops, 0);
    end_low();
}

static size_t renewed_after(int granules) {
    huge_granules_add(granules);
    return watermark_renew();
}

enum { PEAK_WITHOUT = 1 << 16, EIGHTH = PEAK_WITHOUT / 8 };

/* The peak is in use now, and nothing was freed before. A quarter may wait. */
static void start_at_peak_without_thread(void) {
    start_low();
    reclaimer_forget();
    options.reclaim_thread = THREAD_AUTO;
    options.cache_min = 7 * GRANULE_SIZE;
    options.cache_percent = 25;
    watermark_renew();                                                      /* what tests before have freed */
    assert_int_equal(renewed_after(PEAK_WITHOUT - USED), PEAK_WITHOUT / 4); /* is outweighed by this use */
    assert_int_equal(watermark_note_peak().all, PEAK_WITHOUT);
}

static void end_without_thread(void) {
    huge_granules_add(-(int)(huge_bytes_in_use() >> JW_GRANULE_SHIFT));
    end_low();
}

/* No round comes when the program falls quiet. So the limit becomes less with each free in a row. */
static void without_a_thread_frees_in_a_row_lower_the_limit(void **state) {
    (void)state;
    start_at_peak_without_thread();
    assert_int_equal(renewed_after(-EIGHTH), (PEAK_WITHOUT - 2 * EIGHTH) / 4);
    assert_int_equal(watermark_renew(), (PEAK_WITHOUT - 2 * EIGHTH) / 4);
    assert_int_equal(watermark_without_thread(), (PEAK_WITHOUT - 2 * EIGHTH) / 4);
    assert_int_equal(renewed_after(-EIGHTH), (PEAK_WITHOUT - 4 * EIGHTH) / 4);
    assert_int_equal(renewed_after(-2 * EIGHTH + 16), 32 / 4);
    assert_int_equal(renewed_after(-16), 7);
    assert_int_equal(renewed_after(-EIGHTH), 7);
    watermark_age_peak();
    watermark_note_peak();
    assert_int_equal(watermark_renew(), 7);
    watermark_age_peak(); /* 3 of 8 parts are in use: from now on they are the peak, from which nothing was freed */
    assert_int_equal(watermark_renew(), 3 * EIGHTH / 4);
    assert_int_equal(renewed_after(-4), (3 * EIGHTH - 8) / 4);
    assert_int_equal(renewed_after(2 * EIGHTH), (5 * EIGHTH - 4) / 4);
    assert_int_equal(watermark_note_peak().all, 5 * EIGHTH - 4);
    atomic_store(&reclaimer->state, RUNNING); /* our thread: nobody counts what is freed */
    renewed_after(2 * EIGHTH);
    renewed_after(-2 * EIGHTH);
    reclaimer_forget(); /* so all since the peak was freed in a row */
    assert_int_equal(watermark_renew(), (3 * EIGHTH - 4) / 4);
    end_without_thread();
}

/* What is replaced was not freed: where the use goes up and down, a share of the peak may wait. */
static void without_a_thread_use_outweighs_frees(void **state) {
    (void)state;
    start_at_peak_without_thread();
    renewed_after(-2 * EIGHTH);
    assert_int_equal(renewed_after(EIGHTH / 2), (PEAK_WITHOUT - 2 * EIGHTH) / 4);
    assert_int_equal(renewed_after(EIGHTH / 2 - 2), (PEAK_WITHOUT - 2 * 4) / 4);
    assert_int_equal(renewed_after(2), PEAK_WITHOUT / 4);
    assert_int_equal(renewed_after(-EIGHTH), (PEAK_WITHOUT - 2 * EIGHTH) / 4); /* use does not count for later frees */
    assert_int_equal(renewed_after(EIGHTH), PEAK_WITHOUT / 4);
    for (unsigned in_use = 2 * 7; in_use > 2 * 4; in_use--) {
        renewed_after(-EIGHTH);
        assert_int_equal(renewed_after(EIGHTH / 2), PEAK_WITHOUT / 4);
    }
    renewed_after(-EIGHTH);
    assert_int_equal(renewed_after(EIGHTH / 2), 7 * EIGHTH / 4); /* at most a share of twice what is in use */
    end_without_thread();
}

/* An object above VAST_FROM may be reserved and not touched. Where it is freed, it counts: the next one is likely to be
 * as large. */
static void without_a_thread_vast_objects_do_not_count(void **state) {
    (void)state;
    start_at_peak_without_thread();
    vast_bytes_add(80 * GRANULE_SIZE);
    assert_int_equal(watermark_renew(), (PEAK_WITHOUT - 80) / 4);
    assert_int_equal(watermark_of_mappings(), PEAK_WITHOUT / 4);
    assert_int_equal(watermark_without_thread(), (PEAK_WITHOUT - 80) / 4);
    options.cache_percent = 50;
    assert_int_equal(watermark_renew(), (PEAK_WITHOUT - 80) / 2);
    options.limit_soft = 1;
    assert_int_equal(watermark_renew(), 0);
    options.limit_soft = 0;
    vast_bytes_add(-80 * (intptr_t)GRANULE_SIZE);
    end_without_thread();
}

static void objects_are_vast_from_a_size_on(void **state) {
    (void)state;
    start_low();
    assert_int_equal(vast_bytes_in_use(), 0);
    char *object = huge_allocate(VAST_FROM - 1, 1, NULL);
    assert_int_equal(vast_bytes_in_use(), 0);
    huge_free(object);
    thrift_purge();
    options.cache_min = (size_t)2 * VAST_FROM; /* the next one's mapping waits, and serves again */
    for (int i = 0; i < 2; i++) {
        object = huge_allocate(VAST_FROM, 1, NULL);
        assert_int_equal(vast_bytes_in_use(), huge_usable_size(object));
        huge_free(object);
        assert_int_equal(vast_bytes_in_use(), 0);
    }
    object = huge_allocate(VAST_FROM, 1, NULL);
    object = huge_resize(object, huge_usable_size(object), VAST_FROM / 2);
    assert_int_equal(vast_bytes_in_use(), 0);
    object = huge_resize(object, huge_usable_size(object), VAST_FROM + GRANULE_SIZE); /* with room to grow */
    assert_int_equal(vast_bytes_in_use(), huge_usable_size(object));
    huge_free(object);
    assert_int_equal(vast_bytes_in_use(), 0);
    thrift_purge();
    end_low();
}

static void room_is_what_is_left_of_the_watermark(void **state) {
    (void)state;
    start_low();
    options.cache_min = (size_t)2 * HUGE_SIZE;
    backend_place(a);
    assert_int_equal(free_granules(MAPPED), BIG);
    assert_true(watermark_room(BIG - 1) == 0 && watermark_room(BIG) == 0);
    assert_int_equal(watermark_room(BIG + 1), GRANULE_SIZE);
    assert_int_equal(watermark_room((size_t)2 * BIG), BIG * GRANULE_SIZE);
    a = fetch(BIG);
    end_low();
}

/* 64 granules wait, of a peak of 131; 67 are in use: 64 + 10 may wait. */
static void headroom_is_lacking_from_one_granule_on(void **state) {
    (void)state;
    start_low();
    watermark_note_peak();
    options.cache_min = (size_t)2 * HUGE_SIZE;
    backend_place(a);
    options.cache_min = 0;
    enum { SHARE = USED * PERCENT_BESIDE_NEW / 100 };
    assert_false(thrift_lacks_headroom(SHARE));
    assert_true(thrift_lacks_headroom(SHARE + 1));
    assert_true(thrift_lacks_headroom(BIG));
    assert_true(thrift_lacks_headroom(BIG + 1)); /* also above the peak */
    assert_true(thrift_make_headroom(SHARE) && !thrift_is_at_peak() && free_granules(MAPPED) == BIG);
    a = fetch(BIG);
    assert_true(thrift_make_headroom(0) && !thrift_is_at_peak());
    assert_true(thrift_make_headroom(1) && thrift_is_at_peak());
    assert_true(thrift_make_headroom(0) && !thrift_is_at_peak());
    thrift_make_headroom(1);
    thrift_forget_peak();
    assert_false(thrift_is_at_peak());
    end_low();
}

static void what_is_committed_is_counted_to_the_byte(void **state) {
    (void)state;
    start_low();
    options.cache_min = (size_t)2 * HUGE_SIZE;
    size_t others = other_bytes_in_use(), ranges = USED * GRANULE_SIZE;
    assert_int_equal(limits_committed(), ranges + others);
    backend_place(a);
    assert_int_equal(limits_committed(), ranges + others);
    other_bytes_add(1);
    huge_bytes_add(2 * GRANULE_SIZE);
    assert_int_equal(limits_committed(), ranges + others + 1 + 2 * GRANULE_SIZE);
    huge_bytes_add(-2 * (intptr_t)GRANULE_SIZE);
    a = fetch(BIG);
    char *mapping = huge_allocate(HUGE_SIZE, 1, NULL);
    size_t tables = other_bytes_in_use() - others;
    assert_int_equal(limits_committed(), ranges + others + tables + HUGE_SIZE);
    huge_free(mapping);
    assert_int_equal(limits_committed(), ranges + other_bytes_in_use() + HUGE_SIZE);
    backend_place(a);
    thrift_purge();
    assert_int_equal(limits_committed(), ranges - BIG * GRANULE_SIZE + other_bytes_in_use());
    other_bytes_add(-(intptr_t)(limits_committed() + 1)); /* counts of different moments */
    assert_int_equal(limits_committed(), 0);
    a = fetch(BIG);
    end_low();
}

static void limits_are_exact(void **state) {
    (void)state;
    start_low();
    size_t committed = limits_committed(), granule = GRANULE_SIZE;
    static const struct {
        intptr_t beyond; /* bytes from what is committed up to the limit */
        size_t granules, above;
    } rows[] = {{0, 0, 0},     {0, 1, 1},         {-1, 0, 1},       {-1, 1, 2},   {-4096, 0, 1},
                {-4097, 0, 2}, {-4095, 0, 1},     {4096, 1, 0},     {4095, 1, 1}, {4097, 1, 0},
                {4096, 3, 2},  {1 << 20, 256, 0}, {1 << 20, 257, 1}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.limit_hard = committed + (size_t)rows[i].beyond;
        assert_int_equal(limits_above(&options.limit_hard, rows[i].granules), rows[i].above);
        assert_int_equal(limits_admit(rows[i].granules), rows[i].above == 0);
        options.limit_soft = options.limit_hard;
        assert_int_equal(limits_above_soft(rows[i].granules), rows[i].above);
    }
    options.limit_hard = 0;
    assert_true(limits_above(&options.limit_hard, 1 << 20) == 0 && limits_may_admit(SIZE_MAX));
    options.limit_hard = 5 * granule;
    assert_true(limits_may_admit(5 * granule) && !limits_may_admit(5 * granule + 1));
    options.limit_hard = 0;
    for (size_t soft = 0; soft < 4; soft++)
        for (size_t pressed = 0; pressed < 4; pressed++) { /* 0: none; else so many granules too low */
            options.limit_soft = soft ? committed - soft * granule : 0;
            pressure_limit = pressed ? committed - pressed * granule : 0;
            size_t above = soft > pressed ? soft : pressed;
            assert_int_equal(limits_above_soft(0), above);
            assert_int_equal(limits_are_exceeded(), above > 0);
            assert_int_equal(limits_are_pressed(), pressed > 0);
        }
    pressure_limit = committed;
    assert_false(limits_are_pressed());
    pressure_limit = 0;
    end_low();
}

static size_t limit_in(size_t most, size_t room, uint32_t stalled) {
    sim_group = (struct group_memory){.most = most, .room = room, .stalled = stalled};
    limits_look();
    return pressure_limit;
}

/* An eighth of the group's limit stays free. */
static void the_group_sets_a_limit(void **state) {
    (void)state;
    enum { MOST = 80 << 20, RESERVE = MOST / PRESSURE_RESERVE };
    start_low();
    struct group_memory before_test = sim_group;
    size_t committed = limits_committed();
    pressure_limit = 77;
    assert_int_equal(limit_in(MOST, RESERVE, 0), 77); /* the option is off */
    options.pressure = true;
    assert_int_equal(limit_in(MOST, RESERVE, 0), committed);
    assert_int_equal(limit_in(MOST, RESERVE + 5, PRESSURE_STALLED - 1), committed + 5);
    assert_int_equal(limit_in(MOST, RESERVE + 5, PRESSURE_STALLED), 1);
    assert_int_equal(limit_in(MOST, RESERVE - committed + 2, 0), 2);
    assert_int_equal(limit_in(MOST, RESERVE - committed, 0), 1);
    assert_int_equal(limit_in(MOST, 0, 0), 1);
    assert_int_equal(limit_in(SIZE_MAX, 5, 0), 0);
    assert_int_equal(limit_in(SIZE_MAX - 1, SIZE_MAX - 1, 0), 0); /* beyond our addresses */
    assert_int_equal(limit_in(SIZE_MAX, 5, PRESSURE_STALLED), 1);
    sim_group = before_test;
    pressure_limit = 0;
    end_low();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_memory_is_not_in_use),
        cmocka_unit_test(a_peak_lasts_two_rounds),
        cmocka_unit_test(beside_new_memory_a_share_of_the_peak_may_wait),
        cmocka_unit_test(frees_keep_up_to_the_watermark),
        cmocka_unit_test(a_share_of_nothing_is_nothing),
        cmocka_unit_test(without_a_thread_the_minimum_may_wait),
        cmocka_unit_test(without_a_thread_frees_in_a_row_lower_the_limit),
        cmocka_unit_test(without_a_thread_use_outweighs_frees),
        cmocka_unit_test(without_a_thread_vast_objects_do_not_count),
        cmocka_unit_test(objects_are_vast_from_a_size_on),
        cmocka_unit_test(room_is_what_is_left_of_the_watermark),
        cmocka_unit_test(headroom_is_lacking_from_one_granule_on),
        cmocka_unit_test(what_is_committed_is_counted_to_the_byte),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(the_group_sets_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
