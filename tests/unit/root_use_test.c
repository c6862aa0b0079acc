/* root_use_test.c - slabs stand close together: which roots give them, which give all other ranges, and who goes
 * elsewhere where there is no choice. The last test is of the whole allocator: where no slab stands, no page of records
 * is ever written.
 */
#include "unit.h"

#include "backend/backend.h"
#include "backend/range_fetch.h"
#include "backend/thrift_counters.h"
#include "config/policy.h"
#include "core/allocator.h"
#include "frontend/heap_collect.h"

enum { HALF = ROOT_GRANULES / 2, OBJECTS = 3500 };

static granule_id fetch(enum root_use use, uint32_t weight) {
    bool zeroed;
    void *memory = backend_fetch(use, weight, &zeroed);
    return memory ? granule_of(memory) : 0;
}

static granule_id slot_of(granule_id range) {
    return range / ROOT_GRANULES;
}

/* A first root that is full but for a half, and one for ranges that is full but for the other half. */
static granule_id first[2], second[2];

static void start(void) {
    start_backend();
    first[0] = fetch(FOR_OTHER_RANGES, HALF);
    first[1] = fetch(FOR_OTHER_RANGES, HALF);
    second[0] = fetch(FOR_OTHER_RANGES, HALF);
    second[1] = fetch(FOR_OTHER_RANGES, HALF);
    assert_int_equal(root_count(), 2);
}

static void finish(void) {
    sim_fail_after(SIM_NEVER);
    thrift_purge();
    thrift_purge();
    assert_int_equal(root_count(), 0);
}

static void place_all(void) {
    for (unsigned i = 0; i < 2; i++) {
        if (first[i]) backend_place(first[i]);
        if (second[i]) backend_place(second[i]);
    }
}

/* Such a caller has another way: no root is made, and nothing goes back for it. It hears whether the memory is zero. */
static void a_fetch_from_the_roots_that_there_are(void **state) {
    (void)state;
    enum { FEW = 4 };
    bool zeroed;
    start();
    assert_int_equal(range_fetch(FOR_OTHER_RANGES, HALF, FETCH_FROM_ROOTS, &zeroed), 0);
    memset(granule_address(second[1]), 1, HALF * GRANULE_SIZE);
    backend_place(second[1]);
    assert_int_equal(free_granules(MAPPED), HALF);
    assert_int_equal(range_fetch(FOR_OTHER_RANGES, HALF, FETCH_FROM_ROOTS, &zeroed), second[1]);
    assert_false(zeroed);
    backend_place(second[1]);
    thrift_purge();
    assert_int_equal(free_granules(UNMAPPED), HALF);
    granule_id few = range_fetch(FOR_OTHER_RANGES, FEW, FETCH_FROM_ROOTS, &zeroed);
    assert_true(few >= second[1] && few + FEW <= second[1] + HALF);
    assert_int_equal(zeroed, platform_page_size() <= GRANULE_SIZE);
    assert_true(bytes_are_zero(granule_address(few), FEW * GRANULE_SIZE));
    assert_int_equal(free_granules(UNMAPPED), HALF - FEW);
    assert_int_equal(free_granules(MAPPED), 0);
    assert_int_equal(range_fetch(FOR_OTHER_RANGES, HALF, FETCH_FROM_ROOTS, &zeroed), 0);
    assert_int_equal(root_count(), 2);
    backend_place(few);
    second[1] = 0;
    place_all();
    finish();
}

static void only_the_first_root_gives_all(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(root_use(first[i]), FOR_SMALL_SLABS);
        assert_int_equal(root_use(second[i]), FOR_OTHER_RANGES);
    }
    granule_id slab = fetch(FOR_SMALL_SLABS, 1), range = fetch(FOR_OTHER_RANGES, 2);
    assert_int_equal(root_use(slab), FOR_SMALL_SLABS);
    assert_int_equal(root_use(range), FOR_OTHER_RANGES);
    assert_int_equal(root_count(), 4);
    assert_int_equal(slot_of(fetch(FOR_SMALL_SLABS, 1)), slot_of(slab));
    assert_int_equal(slot_of(fetch(FOR_OTHER_RANGES, 2)), slot_of(range));
    backend_place(slab);
    backend_place(slab + 1);
    backend_place(range);
    backend_place(range + 2);
    place_all();
    finish();
}

/* A root's use is its own, not that of what was in its place. */
static void a_root_in_the_same_place_has_its_own_use(void **state) {
    (void)state;
    start();
    granule_id range = fetch(FOR_OTHER_RANGES, ROOT_GRANULES);
    assert_int_equal(root_use(range), FOR_OTHER_RANGES);
    backend_place(range);
    thrift_purge();
    assert_int_equal(root_count(), 2);
    granule_id slab = fetch(FOR_SMALL_SLABS, 1);
    assert_int_equal(root_use(slab), FOR_SMALL_SLABS); /* in the same place, unless the window ends there */
    backend_place(slab);
    place_all();
    finish();
}

static void what_waits_with_pages_is_for_ranges_only(void **state) {
    (void)state;
    start();
    backend_place(first[0]);
    backend_place(second[0]);
    assert_int_equal(fetch(FOR_OTHER_RANGES, HALF), second[0]); /* of their own first */
    assert_int_equal(fetch(FOR_OTHER_RANGES, HALF), first[0]);
    backend_place(second[0]);
    granule_id slab = fetch(FOR_SMALL_SLABS, 1); /* never among the others: that would cost a page of records */
    assert_int_equal(root_count(), 3);
    assert_int_equal(root_use(slab), FOR_SMALL_SLABS);
    second[0] = 0;
    backend_place(slab);
    place_all();
    finish();
}

static void memory_without_pages_is_not_for_ranges(void **state) {
    (void)state;
    start();
    backend_place(first[0]);
    thrift_purge();
    granule_id range = fetch(FOR_OTHER_RANGES, HALF);
    assert_int_equal(root_count(), 3);
    assert_int_equal(root_use(range), FOR_OTHER_RANGES);
    assert_int_equal(fetch(FOR_SMALL_SLABS, HALF), first[0]);
    backend_place(range);
    place_all();
    finish();
}

enum { BESIDE_NEW = PART_BESIDE_NEW * ROOT_SIZE };

/* Fetches from ranges[0], which waits with or without pages in a root of the other use, as no root can be made. */
static void elsewhere(enum root_use use, granule_id *ranges) {
    for (unsigned unmapped = 0; unmapped < 2; unmapped++) {
        start();
        options.cache_min = BESIDE_NEW; /* what waits need not give way to new memory */
        backend_place(ranges[0]);
        if (unmapped) thrift_purge();
        sim_fail_only(SIM_RESERVE);
        sim_fail_after(0);
        size_t given = thrift_counters.given_back;
        assert_int_equal(fetch(use, HALF), ranges[0]);
        assert_int_equal(thrift_counters.given_back, given); /* for that no page had to go */
        assert_int_equal(fetch(use, 1), 0);
        place_all();
        finish();
    }
}

static void without_new_roots_any_will_do(void **state) {
    (void)state;
    elsewhere(FOR_SMALL_SLABS, second);
    elsewhere(FOR_OTHER_RANGES, first);
}

static void a_refused_root_goes_later(void **state) {
    (void)state;
    start();
    sim_fail_only(SIM_UNMAP);
    sim_fail_after(0);
    for (unsigned i = 0; i < 2; i++) backend_place(second[i]), second[i] = 0;
    thrift_purge();
    assert_int_equal(root_count(), 2);
    sim_fail_after(SIM_NEVER);
    thrift_purge();
    assert_int_equal(root_count(), 1);
    place_all();
    finish();
}

struct seen {
    unsigned roots[ROOT_USES];
    size_t slabs;
};

static void look_at_root(granule_id root, void *context) {
    struct seen *seen = context;
    seen->roots[root_use(root)]++;
    for (granule_id id = root; id < root + ROOT_GRANULES; id++) {
        if (!(leaf_is_slab(leaf_get(id)))) continue;
        assert_int_equal(root_use(id), FOR_SMALL_SLABS);
        seen->slabs++;
    }
    if (root_use(root) == FOR_OTHER_RANGES) assert_true(sim_is_zero(record_at(root), ROOT_GRANULES * RECORD_SIZE));
}

static void pages_of_records_are_few(void **state) {
    (void)state;
    static void *objects[OBJECTS];
    uint64_t randomness = 1;
    start_backend();
    assert_true(allocator_start());
    for (unsigned wave = 0; wave < 6; wave++) {
        for (unsigned i = 0; i < OBJECTS; i++)
            if (!objects[i]) assert_non_null(objects[i] = jw_malloc(random_below(&randomness, (size_t)16 << i % 13)));
        struct seen seen = {0};
        page_map_walk(look_at_root, &seen);
        assert_true(seen.roots[FOR_OTHER_RANGES] >= 2);
        assert_true(seen.slabs > 0 && seen.roots[FOR_SMALL_SLABS] <= 2 + seen.slabs / HALF);
        for (unsigned i = 0; i < OBJECTS; i++) {
            if (random_below(&randomness, 16) == 0) continue;
            jw_free(objects[i]);
            objects[i] = NULL;
        }
        if (wave % 2) thrift_purge();
    }
    for (unsigned i = 0; i < OBJECTS; i++) jw_free(objects[i]);
    heap_drain_own();
    finish();
}

/* One half is free without pages, this one waits to be closed. */
static granule_id in_hand;

/* Closes it, which takes an entry for good, and fetches a half. Returns whether the closed one was opened for that. */
static bool fetch_opens(void) {
    leaf_set(in_hand, leaf_held());
    assert_true(root_close_part(in_hand));
    free_granules_add(UNMAPPED, HALF);
    granule_id range = fetch(FOR_OTHER_RANGES, HALF), part = root_open_part(FOR_OTHER_RANGES, 1);
    bool opened = part == 0;
    if (opened) part = range_acquire(FOR_OTHER_RANGES, UNMAPPED, HALF);
    else free_granules_add(UNMAPPED, -HALF);
    assert_true(range != 0 && part != 0 && range != part);
    assert_int_equal(free_granules(UNMAPPED), 0);
    leaf_set(range, leaf_held());
    range_place(range, UNMAPPED);
    in_hand = part;
    return opened;
}

/* Once more parts were closed than the first root's, a thread that needs memory without pages opens all first: once
 * between two rounds, and only where at least half of all memory has no pages. */
static void lost_parts_make_roots_whole_again(void **state) {
    (void)state;
    start_backend();
    granule_id roots[3] = {root_create(FOR_OTHER_RANGES), root_create(FOR_OTHER_RANGES), 0};
    in_hand = knit_split(roots[0], HALF);
    granule_id half = knit_split(roots[1], HALF);
    leaf_set(half, leaf_held());
    range_place(half, UNMAPPED);
    unsigned closed = 0;
    for (bool opened = false; !opened; closed++) {
        assert_true(closed <= FIRST_CLOSED_PARTS);
        thrift_count_round();
        opened = fetch_opens();
    }
    assert_int_equal(closed, FIRST_CLOSED_PARTS + 1);
    assert_false(fetch_opens());
    thrift_count_round();
    assert_true(fetch_opens());
    roots[2] = root_create(FOR_OTHER_RANGES);
    thrift_count_round();
    assert_false(fetch_opens());
    range_place(in_hand, UNMAPPED);
    for (unsigned i = 0; i < 3; i++) range_place(roots[i], UNMAPPED);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_parts_make_roots_whole_again), /* counts the entries that are taken */
        cmocka_unit_test(a_fetch_from_the_roots_that_there_are),
        cmocka_unit_test(only_the_first_root_gives_all),
        cmocka_unit_test(a_root_in_the_same_place_has_its_own_use),
        cmocka_unit_test(what_waits_with_pages_is_for_ranges_only),
        cmocka_unit_test(memory_without_pages_is_not_for_ranges),
        cmocka_unit_test(without_new_roots_any_will_do),
        cmocka_unit_test(a_refused_root_goes_later),
        cmocka_unit_test(pages_of_records_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
