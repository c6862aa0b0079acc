/* deferred_unmap_test.c - what the OS refuses to unmap is kept, offered again, and costs neither a slot nor a root
 * for good. */
#include "unit.h"

#include "backend/backend.h"
#include "backend/directory.h"
#include "backend/huge.h"
#include "backend/mapping_cache.h"
#include "platform/deferred_unmap.h"
#include "platform/platform_policy.h"

enum { MAPPINGS = 20, SIZE = 8192, HUGE_SIZE = 5 << 20 };

static size_t before;

static void start(void) {
    start_backend();
    options = default_options;
    char *first = platform_reserve(SIZE, SIZE, "test"); /* the directory's tables for the whole arena */
    assert_true(directory_make_word(first) && directory_make_word(first + JW_SIM_ARENA - ROOT_SIZE));
    assert_true(platform_unmap(first, SIZE));
    options.reclaim_thread = THREAD_TRUE;
    before = sim_reserved();
}

static void finish(void) {
    sim_fail_after(SIM_NEVER);
    sim_take_thread();
    reclaimer_forget();
    assert_int_equal(sim_reserved(), before);
    assert_int_equal(deferred_bytes(), 0);
    assert_int_equal(claimed_slots(), 0);
    assert_int_equal(root_count(), 0);
}

static void all_are_unmapped_when_refusals_end(void **state) {
    (void)state;
    start();
    char *mappings[MAPPINGS];
    for (unsigned i = 0; i < MAPPINGS; i++) mappings[i] = platform_reserve(SIZE, SIZE, "test");
    assert_false(unmap_deferred());
    sim_fail_after(0);
    for (unsigned i = 0; i < MAPPINGS; i++) assert_false(unmap_or_defer(mappings[i], SIZE));
    assert_int_equal(deferred_bytes(), MAPPINGS * SIZE);
    uint64_t calls = platform_system_calls();
    assert_true(unmap_deferred());
    assert_true(platform_system_calls() - calls <= 20); /* not two for each of them */
    assert_int_equal(sim_reserved(), before + MAPPINGS * SIZE);
    sim_fail_after(3); /* others come first in turn */
    assert_true(unmap_deferred());
    assert_int_equal(sim_reserved(), before + (MAPPINGS - 3) * SIZE);
    assert_int_equal(deferred_bytes(), (MAPPINGS - 3) * SIZE);
    sim_fail_after(SIM_NEVER);
    for (unsigned rounds = 0; unmap_deferred(); rounds++) assert_true(rounds < 3);
    assert_true(unmap_or_defer(NULL, 0));
    finish();
}

/* Each of thousands would cost a page that is not in the processor's cache. */
static void what_is_not_offered_is_not_looked_at(void **state) {
    (void)state;
    start();
    void **mappings[MAPPINGS];
    for (unsigned i = 0; i < MAPPINGS; i++) mappings[i] = platform_reserve(SIZE, SIZE, "test");
    sim_fail_after(0);
    for (unsigned i = 0; i < MAPPINGS; i++) assert_false(unmap_or_defer(mappings[i], SIZE));
    assert_true(unmap_deferred()); /* offers the newest eight, and finds out once which one is the oldest */
    void *link = *mappings[1];
    *mappings[1] = NULL; /* a look at it would find the end here, and lose the others */
    assert_true(unmap_deferred());
    *mappings[1] = link;
    sim_fail_after(SIM_NEVER);
    assert_false(unmap_deferred());
    finish();
}

static void a_refused_huge_object_costs_nothing_for_good(void **state) {
    (void)state;
    start();
    void *object = huge_allocate(HUGE_SIZE, 1, NULL);
    memset(object, 1, HUGE_SIZE);
    sim_fail_after(0);
    huge_free(object);
    assert_int_equal(huge_usable_size(object), 0);
    assert_int_equal(claimed_slots(), 0);
    assert_int_equal(sim_reserved(), before + HUGE_SIZE);
    sim_fail_after(SIM_NEVER);
    assert_non_null(object = huge_allocate(HUGE_SIZE, 1, NULL)); /* the next one that is made offers it again */
    assert_int_equal(sim_reserved(), before + HUGE_SIZE);
    huge_free(object);
    finish();
}

static void the_reclamation_thread_offers_it(void **state) {
    (void)state;
    start();
    void *object = huge_allocate(HUGE_SIZE, 1, NULL);
    sim_fail_after(0);
    huge_free(object);
    sim_fail_after(SIM_NEVER);
    reclaimer_forget();
    thrift_wake();
    sim_take_thread()();
    finish();
}

static void a_huge_object_survives_a_refused_resize(void **state) {
    (void)state;
    start();
    char *object = huge_allocate(2 * HUGE_SIZE, 1, NULL);
    pattern_fill(object, HUGE_SIZE, 1);
    sim_fail_after(0);
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), HUGE_SIZE), object); /* smaller: it stays as it is */
    assert_int_equal(huge_usable_size(object), 2 * HUGE_SIZE);
    assert_true(pattern_holds(object, HUGE_SIZE, 1));
    assert_null(huge_resize(object, huge_usable_size(object), 3 * HUGE_SIZE));
    sim_fail_after(2); /* the resize in place is refused by itself, a new mapping and its move must be had */
    assert_null(huge_resize(object, huge_usable_size(object), 3 * HUGE_SIZE));
    assert_true(pattern_holds(object, HUGE_SIZE, 1));
    sim_fail_after(SIM_NEVER);
    assert_ptr_equal(huge_resize(object, huge_usable_size(object), HUGE_SIZE), object);
    huge_free(object);
    unmap_deferred();
    finish();
}

static char *resized;
static size_t size_meanwhile;

bool __real_platform_resize(void *address, size_t old_size, size_t new_size);
bool __wrap_platform_resize(void *address, size_t old_size, size_t new_size);
bool __wrap_platform_resize(void *address, size_t old_size, size_t new_size) {
    size_meanwhile = huge_usable_size(address);
    resized = address;
    return __real_platform_resize(address, old_size, new_size);
}

/* As soon as the OS has the end's addresses, another thread may get them: before that the object must have lost them.
 * What it may get it has afterwards only. Refused, it is as it was. */
static void an_object_never_has_what_the_system_has(void **state) {
    (void)state;
    start();
    char *object = huge_allocate(2 * HUGE_SIZE, 1, NULL);
    for (unsigned refused = 0; refused < 2; refused++) {
        sim_fail_after(refused ? 0 : SIM_NEVER);
        size_t before = huge_usable_size(object), wanted = refused ? BACKEND_MAX + 16 * GRANULE_SIZE : HUGE_SIZE;
        assert_ptr_equal(huge_resize(object, before, wanted), object);
        assert_ptr_equal(resized, object);
        assert_int_equal(size_meanwhile, wanted);
        assert_int_equal(huge_usable_size(object), refused ? before : wanted);
    }
    resized = NULL;
    huge_resize(object, huge_usable_size(object), 4 * HUGE_SIZE); /* refused, too */
    if (resized) assert_int_equal(size_meanwhile, HUGE_SIZE);
    sim_fail_after(SIM_NEVER);
    huge_free(object);
    unmap_deferred();
    finish();
}

/* The room to grow is the first thing that an address space without much room refuses. */
static void an_object_grows_without_room_at_need(void **state) {
    (void)state;
    start();
    char *object = huge_allocate(HUGE_SIZE, 1, NULL);
    pattern_fill(object, HUGE_SIZE, 1);
    size_t size = huge_good_size((JW_SIM_ARENA - sim_reserved()) / 16 * 15);
    object = huge_resize(object, huge_usable_size(object), size);
    assert_true(object && huge_usable_size(object) == size);
    assert_true(pattern_holds(object, HUGE_SIZE, 1));
    huge_free(object);
    finish();
}

/* A root that the OS does not take waits as an unmapped range, and the next round offers it. */
static void a_refused_root_goes_with_the_next_round(void **state) {
    (void)state;
    start();
    bool zeroed;
    granule_id range = granule_of(backend_fetch(FOR_SMALL_SLABS, ROOT_GRANULES, &zeroed));
    backend_place(range);
    sim_fail_after(1); /* madvise is granted */
    thrift_purge();
    assert_int_equal(root_count(), 1);
    assert_int_equal(free_granules(UNMAPPED), ROOT_GRANULES);
    sim_fail_after(SIM_NEVER);
    thrift_purge();
    finish();
}

/* The link of what waits is written to its start: so memory without access waits only if it becomes writable. */
static void what_cannot_be_written_does_not_wait(void **state) {
    (void)state;
    start();
    uint64_t *mapping = platform_reserve(SIZE, SIZE, "test");
    *mapping = 77;
    sim_fail_only(SIM_UNMAP | SIM_PROTECT);
    sim_fail_after(0);
    unmap_readable(mapping, SIZE);
    assert_int_equal(*mapping, 77);
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    assert_false(unmap_deferred());
    assert_int_equal(sim_reserved(), before + SIZE);
    unmap_readable(mapping, SIZE);
    finish();
}

static void refuse(unsigned operations) {
    sim_fail_only(operations);
    sim_fail_after(0);
}

static void end_refusals(void) {
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    assert_false(unmap_deferred());
}

/* Deferred mappings of `count` sizes, each without a zero byte. */
static void defer_each(const size_t *sizes, unsigned count, char **mappings) {
    for (unsigned i = 0; i < count; i++) {
        mappings[i] = platform_reserve(sizes[i], SIZE, "test");
        memset(mappings[i], 1, sizes[i]);
    }
    refuse(SIM_UNMAP | SIM_RESERVE);
    for (unsigned i = 0; i < count; i++) assert_false(unmap_or_defer(mappings[i], sizes[i]));
}

static void the_first_that_is_large_enough_serves(void **state) {
    (void)state;
    start();
    const size_t sizes[] = {4 * SIZE, 2 * SIZE, 3 * SIZE, SIZE};
    char *mappings[4], *taken;
    defer_each(sizes, 4, mappings); /* the newest is looked at first */
    size_t all = sim_reserved();
    size_t size = 2 * SIZE;
    assert_ptr_equal(taken = take_deferred(&size), mappings[2]); /* whole: its owner cuts off the rest */
    assert_int_equal(size, 3 * SIZE);
    assert_true(sim_is_zero(taken, size));
    assert_ptr_equal(platform_reserve(2 * SIZE, JW_SIM_PAGE, "test"), mappings[1]);
    assert_null(platform_reserve(5 * SIZE, JW_SIM_PAGE, "test"));
    assert_ptr_equal(platform_reserve(3 * SIZE, JW_SIM_PAGE, "test"), mappings[0]);
    assert_true(sim_is_zero(mappings[0], 3 * SIZE) && sim_is_zero(mappings[1], 2 * SIZE));
    assert_null(platform_reserve(2 * SIZE, JW_SIM_PAGE, "test"));
    assert_ptr_equal(platform_reserve(SIZE, JW_SIM_PAGE, "test"), mappings[3]); /* that look has put it on top */
    assert_ptr_equal(platform_reserve(SIZE, JW_SIM_PAGE, "test"), mappings[0] + 3 * SIZE); /* the end of that one */
    assert_null(platform_reserve(SIZE, JW_SIM_PAGE, "test"));
    assert_int_equal(sim_reserved(), all); /* no addresses were lost, and none came */
    for (unsigned i = 0; i < 4; i++) assert_false(unmap_or_defer(mappings[i], sizes[i]));
    end_refusals();
    finish();
}

static void what_is_taken_is_aligned(void **state) {
    (void)state;
    start();
    enum { ALIGNED = 16 * SIZE };
    const size_t size = 2 * ALIGNED;
    char *mapping, *got;
    defer_each(&size, 1, &mapping);
    assert_null(platform_reserve(ALIGNED + 2 * SIZE, ALIGNED, "test")); /* might not fit in between */
    got = platform_reserve(ALIGNED, ALIGNED, "test");
    assert_true(got >= mapping && got + ALIGNED <= mapping + size && (uintptr_t)got % ALIGNED == 0);
    unmap_or_defer(got, ALIGNED);
    end_refusals(); /* also what lay before it and behind it */
    finish();
}

/* Pages that the OS does not take are cleared by hand. A mapping that cannot be made writable serves nobody. */
static void what_is_taken_can_be_written_and_is_zero(void **state) {
    (void)state;
    start();
    const size_t size = 4 * SIZE;
    char *mapping;
    defer_each(&size, 1, &mapping);
    refuse(SIM_UNMAP | SIM_RESERVE | SIM_PROTECT);
    assert_null(platform_reserve(SIZE, JW_SIM_PAGE, "test"));
    memset(mapping + SIZE, 1, SIZE); /* as if it had not been discarded */
    refuse(SIM_UNMAP | SIM_RESERVE | SIM_DISCARD);
    assert_ptr_equal(platform_reserve(size, JW_SIM_PAGE, "test"), mapping);
    assert_true(sim_is_zero(mapping, size));
    assert_false(unmap_or_defer(mapping, size));
    end_refusals();
    finish();
}

/* At the limit of mappings munmap is refused, and mmap, too. */
static void a_freed_huge_object_serves_a_new_one(void **state) {
    (void)state;
    start();
    char *object = huge_allocate(HUGE_SIZE, 1, NULL);
    memset(object, 1, HUGE_SIZE);
    refuse(SIM_UNMAP | SIM_RESERVE);
    huge_free(object);
    mapping_cache_drain(ANY_BUFFER, SIZE_MAX);
    assert_null(huge_allocate(HUGE_SIZE + SIZE, 1, NULL));
    struct huge_statistics statistics;
    size_t dirty = 1;
    assert_ptr_equal(huge_allocate(HUGE_SIZE - SIZE, 1, &dirty), object);
    assert_int_equal(dirty, 0);
    assert_true(sim_is_zero(object, HUGE_SIZE - SIZE));
    assert_int_equal(huge_usable_size(object), HUGE_SIZE - SIZE);
    huge_statistics(&statistics);
    assert_int_equal(statistics.bytes, HUGE_SIZE - SIZE);
    assert_int_equal(sim_reserved(), before + HUGE_SIZE);
    huge_free(object);
    mapping_cache_drain(ANY_BUFFER, SIZE_MAX);
    end_refusals();
    finish();
}

/* A thread looks at some of them only. The others come first in the next look. */
static void not_all_are_looked_at(void **state) {
    (void)state;
    start();
    enum { SMALL = JW_SIM_PAGE, COUNT = DEFERRED_LOOKS + 1 };
    char *large = platform_reserve(SIZE, SMALL, "test"), *small = platform_reserve(COUNT * SMALL, SMALL, "test");
    refuse(SIM_UNMAP | SIM_RESERVE);
    assert_false(unmap_or_defer(large, SIZE));
    for (unsigned i = 0; i < COUNT; i++) assert_false(unmap_or_defer(small + i * SMALL, SMALL));
    assert_null(platform_reserve(SIZE, SMALL, "test"));
    assert_ptr_equal(platform_reserve(SIZE, SMALL, "test"), large);
    assert_false(unmap_or_defer(large, SIZE));
    end_refusals();
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_unmapped_when_refusals_end),
        cmocka_unit_test(what_is_not_offered_is_not_looked_at),
        cmocka_unit_test(a_refused_huge_object_costs_nothing_for_good),
        cmocka_unit_test(the_reclamation_thread_offers_it),
        cmocka_unit_test(a_huge_object_survives_a_refused_resize),
        cmocka_unit_test(an_object_never_has_what_the_system_has),
        cmocka_unit_test(an_object_grows_without_room_at_need),
        cmocka_unit_test(a_refused_root_goes_with_the_next_round),
        cmocka_unit_test(what_cannot_be_written_does_not_wait),
        cmocka_unit_test(the_first_that_is_large_enough_serves),
        cmocka_unit_test(what_is_taken_is_aligned),
        cmocka_unit_test(what_is_taken_can_be_written_and_is_zero),
        cmocka_unit_test(a_freed_huge_object_serves_a_new_one),
        cmocka_unit_test(not_all_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
