/* mapping_cache_test.c - huge objects and what is counted of them; mappings that wait for the next one, and go though
 * the OS refuses to unmap them. */
#include "unit.h"

#include "backend/huge.h"
#include "backend/limits.h"
#include "backend/mapping_cache.h"
#include "backend/watermark.h"
#include "base/align.h"
#include "config/policy.h"
#include "platform/deferred_unmap.h"

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

static char *place_of(unsigned number) {
    return (char *)((uintptr_t)(number + 1) << JW_GRANULE_SHIFT); // NOLINT(performance-no-int-to-ptr)
}

/* The cache is full: mappings leave it in turn, those that have waited longest first. It does not touch them. */
static void mappings_leave_in_turn(void **state) {
    (void)state;
    enum { ROUNDS = 3 };
    struct cached_mapping mapping = {.size = HUGE_SIZE}, old;
    unsigned number = 0, count = 0;
    start_backend();
    for (; number < ROUNDS * JW_CACHED_MAPPINGS; number++) {
        mapping.start = place_of(number);
        assert_true(mapping_cache_push(&mapping, &old));
        assert_ptr_equal(old.start, number < JW_CACHED_MAPPINGS ? NULL : place_of(number - JW_CACHED_MAPPINGS));
        assert_int_equal(old.size, number < JW_CACHED_MAPPINGS ? 0 : HUGE_SIZE);
    }
    assert_int_equal(mapping_cache_bytes(), JW_CACHED_MAPPINGS * (size_t)HUGE_SIZE);
    for (; mapping_cache_pop(HUGE_SIZE, 1, &old); count++)
        assert_true(old.start >= place_of(number - JW_CACHED_MAPPINGS) && old.start < place_of(number));
    assert_int_equal(count, JW_CACHED_MAPPINGS);
    assert_int_equal(mapping_cache_bytes(), 0);
}

/* A size that no mapping can have leaves the object as it is. */
static void an_impossible_size_changes_nothing(void **state) {
    (void)state;
    start_backend();
    options = default_options;
    char *object = huge_allocate(HUGE_SIZE, 1, NULL);
    memset(object, 1, HUGE_SIZE);
    assert_null(huge_resize(object, huge_usable_size(object), SIZE_MAX - 1));
    assert_int_equal(huge_usable_size(object), HUGE_SIZE);
    assert_int_equal(memcmp(object, object + 1, HUGE_SIZE - 1), 0);
    huge_free(object);
    thrift_purge();
}

static void check_counts(size_t mappings, size_t bytes) {
    struct huge_statistics statistics;
    huge_statistics(&statistics);
    assert_int_equal(statistics.mappings, mappings);
    assert_int_equal(statistics.bytes, bytes);
}

/* The mapping keeps its addresses while they are the object's room to grow. No mapping is below the least huge size. */
static void an_object_that_shrinks(void **state) {
    (void)state;
    enum { OLD = 9 << 20, LEAST = BACKEND_MAX + GRANULE_SIZE };
    start_backend();
    options = default_options;
    char *object = huge_allocate(OLD, 1, NULL);
    check_counts(1, OLD);
    pattern_fill(object, OLD, 1);
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), OLD), object);
    assert_true(pattern_holds(object, OLD, 1));
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), OLD / 9 * 8),
                     object); /* and an eighth of that is the rest */
    assert_int_equal(huge_usable_size(object), OLD);
    assert_true(pattern_holds(object, OLD / 9 * 8, 1) && sim_is_zero(object + OLD / 9 * 8, OLD / 9));
    check_counts(1, OLD);
    size_t less = OLD / 9 * 8 - 2 * GRANULE_SIZE, reserved = sim_reserved();
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), less - 1), object);
    assert_int_equal(huge_usable_size(object), less);
    assert_int_equal(sim_reserved(), reserved - (OLD - less));
    assert_true(pattern_holds(object, less, 1));
    check_counts(1, less);
    sim_fail_only(SIM_RESIZE);
    sim_fail_after(0);
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), GRANULE_SIZE),
                     object); /* refused: only the memory goes */
    assert_int_equal(huge_usable_size(object), less);
    assert_true(pattern_holds(object, GRANULE_SIZE, 1) && sim_is_zero(object + GRANULE_SIZE, less - GRANULE_SIZE));
    check_counts(1, less);
    sim_fail_after(SIM_NEVER);
    pattern_fill(object, less, 2);
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), GRANULE_SIZE + 1), object);
    assert_int_equal(huge_usable_size(object), LEAST);
    assert_true(sim_is_zero(object + 2 * GRANULE_SIZE, LEAST - 2 * GRANULE_SIZE));
    assert_true(pattern_holds(object, 2 * GRANULE_SIZE, 2));
    check_counts(1, LEAST);
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), 1), object);
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), LEAST), object);
    assert_int_equal(huge_usable_size(object), LEAST);
    check_counts(1, LEAST);
    huge_free(object);
    check_counts(0, 0);
    thrift_purge();
}

/* It moves, and gets room to grow. What is refused changes nothing. */
static void an_object_that_grows(void **state) {
    (void)state;
    enum { OLD = 5 << 20, NEW = 8 << 20, ROOMY = NEW + NEW / 8 };
    struct huge_statistics first, second;
    size_t size;
    start_backend();
    options = default_options;
    char *object = huge_allocate(OLD, 1, NULL), *moved;
    pattern_fill(object, OLD, 1);
    size_t reserved = sim_reserved(), committed = limits_committed();
    for (unsigned refused = 0; refused < 3; refused++) {
        sim_fail_only(refused == 0 ? SIM_MOVE : SIM_RESERVE);
        sim_fail_after(refused == 2 ? SIM_NEVER : 0);
        if (refused == 2) options.limit_hard = committed + NEW - OLD - 1;
        assert_null(huge_resize(object, huge_usable_size(object), NEW));
        assert_int_equal(huge_usable_size(object), OLD);
        assert_true(pattern_holds(object, OLD, 1));
        check_counts(1, OLD);
        thrift_purge();
        assert_true(sim_reserved() - reserved < OLD); /* the directory may have grown: addresses are random */
        assert_true(limits_committed() - committed < OLD);
    }
    committed = limits_committed();
    options.limit_hard = committed + ROOMY - OLD;
    huge_statistics(&first);
    moved = huge_resize(object, huge_usable_size(object), NEW - 1);
    options.limit_hard = 0;
    huge_statistics(&second);
    assert_true(moved && moved != object);
    assert_int_equal(huge_usable_size(moved), ROOMY);
    assert_int_equal(second.mapped_total - first.mapped_total, ROOMY);
    assert_true(pattern_holds(moved, OLD, 1) && sim_is_zero(moved + OLD, ROOMY - OLD));
    check_counts(1, ROOMY);
    assert_int_equal(limits_committed(), committed + ROOMY - OLD);
    assert_int_equal(huge_usable_size(object), 0);
    assert_false(huge_free_if_live(object));
    assert_ptr_equal(huge_around(object + OLD - 1, true, &size), object);
    assert_int_equal(size, OLD);
    assert_null(huge_around(object + OLD - 1, false, &size));
    assert_ptr_equal(huge_resize(moved, huge_usable_size(moved), ROOMY), moved);
    assert_ptr_equal(huge_around(moved, false, &size), moved);
    assert_ptr_equal(huge_around(moved + ROOMY - 1, false, &size), moved);
    assert_int_equal(size, ROOMY);
    assert_null(huge_around(moved + ROOMY, false, &size));
    assert_null(huge_around(moved - 1, false, &size));
    assert_null(huge_around(moved, true, &size));
    huge_free(moved);
    check_counts(0, 0);
    thrift_purge();
}

/* The smallest of those that are at most an eighth larger goes first, then the nearest in size: from a 16th of the size
 * to twice the size. */
static void the_mapping_that_suits_best_is_popped(void **state) {
    (void)state;
    if (HUGE_FITTING == 1) return; /* on 32 bits */
    enum { UNIT = 1 << 20, SIZE = 32 * UNIT };
    static const unsigned units[] = {1, 2, 24, 31, 32, 34, 36, 37, 64, 65}, order[] = {32, 34, 36, 31, 37, 24, 64, 2};
    struct cached_mapping mapping, old;
    start_backend();
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        mapping.start = place_of(4 * i + 1); /* at a multiple of two granules, not of four */
        mapping.size = (size_t)units[i] * UNIT;
        assert_true(mapping_cache_push(&mapping, &old) && !old.start);
    }
    assert_false(mapping_cache_pop(SIZE, 4 * GRANULE_SIZE, &old));
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
        assert_true(mapping_cache_pop(SIZE, 2 * GRANULE_SIZE, &old));
        assert_int_equal(old.size / UNIT, order[i]);
    }
    assert_false(mapping_cache_pop(SIZE, 1, &old));
    assert_int_equal(mapping_cache_bytes(), 66 * UNIT);
    assert_true(mapping_cache_pop(16 * UNIT, 1, &old) && old.size == UNIT);
    assert_true(mapping_cache_pop(33 * UNIT, 1, &old) && old.size == 65 * UNIT);
    assert_int_equal(mapping_cache_bytes(), 0);
}

enum { WAITS = 16 << 20, LESS = 9 << 20, MORE = 24 << 20 };

/* A mapping with a pattern in all of it waits, and all of its memory. */
static char *waiting_mapping(size_t alignment) {
    start_backend();
    options = default_options;
    options.cache_min = 64 << 20;
    char *object = huge_allocate(WAITS, alignment, NULL);
    pattern_fill(object, WAITS, 1);
    huge_free(object);
    assert_int_equal(mapping_cache_bytes(), WAITS);
    return object;
}

/* What the program gets: its size, its alignment, old bytes as far as `dirty` says, zeros behind. */
static void check_reused(char *object, size_t size, size_t dirty) {
    assert_non_null(object);
    assert_int_equal(huge_usable_size(object), size);
    assert_true(huge_may_serve(huge_usable_size(object), size));
    assert_true(pattern_holds(object, dirty < size ? dirty : size, 1));
    if (dirty < size) assert_true(sim_is_zero(object + dirty, size - dirty));
    check_counts(1, size);
    assert_int_equal(mapping_cache_bytes(), 0);
}

static void a_waiting_mapping_is_cut(void **state) {
    (void)state;
    if (HUGE_FITTING == 1) return; /* on 32 bits */
    size_t dirty = 0, reserved;
    char *object = waiting_mapping(1);
    reserved = sim_reserved();
    assert_ptr_equal(huge_allocate(LESS, 1, &dirty), object);
    assert_int_equal(dirty, WAITS);
    check_reused(object, LESS, dirty);
    assert_int_equal(sim_reserved(), reserved - (WAITS - LESS));
    huge_free(object);
    thrift_purge();
    /* refused: the mapping goes, and the object gets another one */
    char *other;
    waiting_mapping(1);
    sim_fail_only(SIM_RESIZE);
    sim_fail_after(0);
    other = huge_allocate(LESS, 1, &dirty);
    sim_fail_after(SIM_NEVER);
    assert_true(other && dirty == 0 && sim_is_zero(other, LESS));
    assert_int_equal(huge_usable_size(other), LESS);
    check_counts(1, LESS);
    assert_int_equal(mapping_cache_bytes(), 0);
    huge_free(other);
    thrift_purge();
}

/* Without a thread, half of what is in use less what was freed since the peak, which was noted before the last object
 * came: 15 MB. */
static void a_share_of_the_huge_objects_may_wait(void **state) {
    (void)state;
    char *objects[4];
    start_backend();
    options = default_options;
    options.cache_min = 0;
    watermark_age_peak();
    watermark_age_peak();
    for (unsigned i = 0; i < 4; i++) objects[i] = memset(huge_allocate(HUGE_SIZE, 1, NULL), 1, HUGE_SIZE);
    huge_free(objects[0]);
    assert_int_equal(mapping_cache_bytes(), HUGE_SIZE);
    huge_free(objects[1]); /* 10 are in use, 5 freed: what waited goes, and half of this one waits */
    assert_int_equal(mapping_cache_bytes(), HUGE_START_PART > 1 ? HUGE_SIZE / 2 : 0);
    huge_free(objects[2]);
    assert_int_equal(mapping_cache_bytes(), 0);
    huge_free(objects[3]);
    thrift_purge();
    options = default_options;
}

/* In place or by a move, to the size that is asked for and no more: free_sized tells the sizes that fit. */
static void a_waiting_mapping_grows(void **state) {
    (void)state;
    if (HUGE_FITTING == 1) return; /* on 32 bits */
    enum { ALIGNMENT = ROOT_SIZE, BEHIND = ROOT_SIZE + GRANULE_SIZE };
    size_t dirty = 0, reserved;
    char *object = waiting_mapping(ALIGNMENT), *got;
    char *behind = platform_reserve(BEHIND, GRANULE_SIZE, "test"); /* in the way */
    reserved = sim_reserved();
    got = huge_allocate(MORE, ALIGNMENT, &dirty);
    assert_int_equal(dirty, WAITS);
    assert_int_equal((uintptr_t)got % ALIGNMENT, 0);
    check_reused(got, MORE, dirty);
    assert_true(sim_reserved() - reserved < MORE); /* the old place is unmapped, or still the object's */
    assert_true(got == object || huge_usable_size(object) == 0);
    huge_free(got);
    thrift_purge();
    platform_unmap(behind, BEHIND);
    /* refused: the mapping goes, and the object gets another one, if a hard limit admits one */
    for (unsigned refused = 0; refused < 3; refused++) {
        waiting_mapping(1);
        sim_fail_only(refused == 1 ? SIM_MOVE : SIM_RESIZE);
        sim_fail_after(refused < 2 ? 0 : SIM_NEVER);
        if (refused == 2) options.limit_hard = limits_committed() + MORE - WAITS - 1;
        got = huge_allocate(MORE, 1, &dirty);
        sim_fail_after(SIM_NEVER);
        options.limit_hard = 0;
        if (refused < 2) check_counts(1, MORE);
        else assert_null(got);
        if (got) huge_free(got);
        thrift_purge();
        check_counts(0, 0);
        assert_int_equal(mapping_cache_bytes(), 0);
    }
}

/* There no mapping is cut or made larger. */
static void on_32_bits_other_sizes_get_other_mappings(void **state) {
    (void)state;
    size_t dirty = 1;
    if (HUGE_FITTING > 1) return;
    for (unsigned i = 0; i < 2; i++) {
        waiting_mapping(1);
        char *other = huge_allocate(i ? MORE : LESS, 1, &dirty);
        assert_true(other && dirty == 0);
        assert_int_equal(mapping_cache_bytes() % WAITS, 0); /* all of it waits, or has made room */
        huge_free(other);
        thrift_purge();
    }
}

/* A waiting mapping serves sizes down to eight ninths of its own as it is, at an alignment that it has. */
static void a_waiting_mapping_serves_what_is_little_smaller(void **state) {
    (void)state;
    enum { OLD = 9 << 20, LEAST = OLD / 9 * 8 };
    size_t dirty = 1;
    start_backend();
    options = default_options;
    options.cache_min = 2 * OLD;
    char *object = huge_allocate(OLD, 1, &dirty), *other;
    assert_int_equal(dirty, 0);
    huge_free(memset(object, 1, OLD));
    assert_int_equal(mapping_cache_bytes(), OLD);
    check_counts(0, 0);
    assert_ptr_equal(other = huge_allocate(LEAST, 1, &dirty), object);
    assert_int_equal(huge_usable_size(other), OLD);
    assert_int_equal(dirty, OLD);
    check_counts(1, OLD);
    assert_int_equal(mapping_cache_bytes(), 0);
    assert_true(huge_may_serve(OLD, LEAST) && huge_may_serve(OLD, OLD) && huge_may_serve(OLD, OLD - 1));
    assert_false(huge_may_serve(OLD, LEAST - GRANULE_SIZE) || huge_may_serve(OLD, OLD + 1) ||
                 huge_may_serve(OLD, SIZE_MAX) || huge_may_serve(OLD, LEAST - 2 * GRANULE_SIZE));
    huge_free(other);
    thrift_purge();
    assert_int_equal(mapping_cache_bytes(), 0);
}

/* Of what waits the addresses wait, too, and no others. On 32 bits a mapping waits whole. */
static void only_the_start_that_may_wait_keeps_its_addresses(void **state) {
    (void)state;
    enum { OLD = 9 << 20, START = HUGE_START_PART > 1 ? 2 << 20 : 0 };
    size_t dirty;
    start_backend();
    options = default_options;
    char *object = memset(huge_allocate(OLD, 1, NULL), 1, OLD);
    options.cache_min = 2 << 20;
    options.cache_percent = 0;
    size_t reserved = sim_reserved();
    huge_free(object);
    assert_int_equal(mapping_cache_bytes(), START);
    assert_int_equal(sim_reserved(), reserved - OLD + START);
    object = huge_allocate(OLD, 1, &dirty);
    assert_int_equal(dirty, START);
    assert_true(sim_is_zero(object + dirty, OLD - dirty));
    check_counts(1, OLD);
    options.cache_min = OLD / 16 - GRANULE_SIZE; /* such a start would serve no object of that size */
    huge_free(object);
    assert_int_equal(mapping_cache_bytes(), 0);
    thrift_purge();
}

/* The OS does not take the part that may not wait: all of the mapping goes. */
static void what_cannot_wait_is_unmapped(void **state) {
    (void)state;
    start_backend();
    options = default_options;
    huge_free(huge_allocate(HUGE_SIZE, 1, NULL)); /* the directory has its tables */
    thrift_purge();
    options.cache_min = 2 << 20;
    options.cache_percent = 0;
    size_t reserved = sim_reserved();
    char *object = huge_allocate(HUGE_SIZE, 1, NULL);
    assert_true(sim_reserved() >= reserved + HUGE_SIZE);
    reserved = sim_reserved() - HUGE_SIZE;
    sim_fail_only(SIM_RESIZE);
    sim_fail_after(0);
    huge_free(object);
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    assert_int_equal(sim_reserved(), reserved);
    assert_true(mapping_cache_bytes() == 0);
    check_counts(0, 0);
    thrift_purge();
}

static char stranger;

static void free_a_stranger(void) {
    huge_free(&stranger);
}

static void free_twice(void) {
    void *object = huge_allocate(HUGE_SIZE, 1, NULL);
    huge_free(object);
    huge_free(object);
}

static void misuse_is_told(void **state) {
    (void)state;
    start_backend();
    options = default_options;
    expect_abort(free_a_stranger, "invalid free");
    expect_abort(free_twice, "invalid free");
}

static void sizes_at_their_limits(void **state) {
    (void)state;
    start_backend();
    options = default_options;
    const size_t most = (size_t)UINT32_MAX << JW_GRANULE_SHIFT, page = platform_page_size();
    assert_int_equal(huge_good_size(1), GRANULE_SIZE);
    assert_int_equal(huge_good_size(GRANULE_SIZE), GRANULE_SIZE);
    assert_int_equal(huge_good_size(GRANULE_SIZE + 1), 2 * GRANULE_SIZE);
    assert_int_equal(huge_good_size(SIZE_MAX), 0);
    assert_int_equal(huge_addresses(SIZE_MAX, 1), 0);
    if (sizeof(size_t) > 4) {
        assert_int_equal(huge_good_size(most), most);
        assert_int_equal(huge_good_size(most + 1), 0);
    }
    assert_int_equal(huge_addresses(HUGE_SIZE, 1), HUGE_SIZE + GRANULE_SIZE - page);
    assert_int_equal(huge_addresses(HUGE_SIZE, 64 * page), HUGE_SIZE + 64 * page - page);
    options.huge_pages = true;
    assert_int_equal(huge_addresses(HUGE_SIZE, 1), HUGE_SIZE + ROOT_SIZE - page);
    options.huge_pages = false;
}

/* All entries are in other threads' hands: there an entry has the address 1, as it has of a mapping that begins there.
 * Of a mapping that may wait in part the end has gone by then. Afterwards no entry is left. */
static void a_mapping_that_gets_no_entry_goes_once(void **state) {
    (void)state;
    struct cached_mapping nowhere = {.start = (char *)1}, old; // NOLINT(performance-no-int-to-ptr)
    start_backend();
    options = default_options;
    options.cache_percent = 0;
    options.cache_min = HUGE_SIZE / 2;
    char *object = huge_allocate(HUGE_SIZE, 1, NULL);
    size_t start = HUGE_START_PART > 1 ? align_down(HUGE_SIZE / 2, GRANULE_SIZE) : HUGE_SIZE;
    while (mapping_cache_push(&nowhere, &old)) continue;
    assert_null(old.start);
    sim_fail_only(SIM_UNMAP);
    sim_fail_after(0);
    huge_free(object);
    assert_int_equal(deferred_bytes(), start);
    sim_fail_after(SIM_NEVER);
    assert_false(unmap_deferred());
    assert_int_equal(mapping_cache_bytes(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_mapping_is_emptied_and_offered_again),
        cmocka_unit_test(mappings_leave_in_turn),
        cmocka_unit_test(an_impossible_size_changes_nothing),
        cmocka_unit_test(an_object_that_shrinks),
        cmocka_unit_test(an_object_that_grows),
        cmocka_unit_test(the_mapping_that_suits_best_is_popped),
        cmocka_unit_test(a_waiting_mapping_is_cut),
        cmocka_unit_test(a_share_of_the_huge_objects_may_wait),
        cmocka_unit_test(a_waiting_mapping_grows),
        cmocka_unit_test(on_32_bits_other_sizes_get_other_mappings),
        cmocka_unit_test(a_waiting_mapping_serves_what_is_little_smaller),
        cmocka_unit_test(only_the_start_that_may_wait_keeps_its_addresses),
        cmocka_unit_test(what_cannot_wait_is_unmapped),
        cmocka_unit_test(misuse_is_told),
        cmocka_unit_test(sizes_at_their_limits),
        cmocka_unit_test(a_mapping_that_gets_no_entry_goes_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
