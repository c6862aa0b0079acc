/* purge_test.c - a purge with a limit of time: its levels, its end, and that the next call goes on (core/purge.h). */
#include <stdlib.h>

#include "heap_players.h"

#include "backend/backend.h"
#include "backend/thrift_buffers.h"
#include "backend/timed_purge.h"
#include "core/purge.h"
#include "frontend/heap_rounds.h"
#include "frontend/heap_stacks.h"
#include "frontend/heap_statistics.h"
#include "frontend/remote_reclaim.h"
#include "frontend/remote_work.h"

enum { RANGES = 24, WEIGHT = 8, SLAB_SIZE = 224, SLAB_COUNT = 400, COST = 100, MANY_CALLS = 2000 };

static granule_id ranges[2 * RANGES];

static int by_address(const void *a, const void *b) {
    granule_id first = *(const granule_id *)a, second = *(const granule_id *)b;
    return first < second ? -1 : first > second;
}

/* Free mapped ranges that cannot join: each takes one call of the system to give back. */
static void cache_ranges(void) {
    bool zeroed;
    options.cache_min = SIZE_MAX;
    options.reclaim_start = SIZE_MAX;
    for (unsigned i = 0; i < 2 * RANGES; i++) {
        ranges[i] = granule_of(backend_fetch(FOR_OTHER_RANGES, WEIGHT, &zeroed));
        memset(granule_address(ranges[i]), 0xa5, WEIGHT * GRANULE_SIZE);
    }
    qsort(ranges, 2 * RANGES, sizeof *ranges, by_address);
    for (unsigned i = 0; i < 2 * RANGES; i += 2) backend_place(ranges[i]);
}

static void end_ranges(void) {
    sim_set_operation_time(0);
    for (unsigned i = 1; i < 2 * RANGES; i += 2) backend_place(ranges[i]);
    finish();
}

static void a_purge_ends_in_time_and_the_next_one_goes_on(void **state) {
    (void)state;
    start();
    purge_for(PURGE_OWN, NO_LIMIT);
    cache_ranges();
    sim_set_operation_time(COST);
    size_t given = 0, calls = 0;
    while (given < (size_t)RANGES * WEIGHT * GRANULE_SIZE) {
        uint64_t before = platform_system_calls();
        given += purge_for(PURGE_SHARED, 4 * COST);
        assert_true(platform_system_calls() - before <= 5);
        assert_true(++calls <= RANGES);
    }
    assert_true(calls >= RANGES / 5);
    assert_int_equal(free_granules(MAPPED), 0);
    end_ranges();
}

static void *objects[SLAB_COUNT];

static void fill_slabs_of(unsigned heap) {
    options.pool_min = SLAB_COUNT;
    options.reclaim_start = SIZE_MAX;
    for (unsigned i = 0; i < SLAB_COUNT; i++) objects[i] = allocate_as(heap, FRONTEND_MAX - SLAB_SIZE);
}

static void free_filled(unsigned heap) {
    for (unsigned i = 0; i < SLAB_COUNT; i++) free_as(heap, objects[i]);
}

static void empty_slabs_of(unsigned heap) {
    fill_slabs_of(heap);
    free_filled(heap);
}

static void without_a_limit_one_call_does_all(void **state) {
    (void)state;
    start();
    cache_ranges();
    sim_set_operation_time(COST);
    purge_for(PURGE_SHARED, COST); /* leaves off in the midst of the last step */
    sim_set_operation_time(0);
    empty_slabs_of(1);
    purge_for(PURGE_THREADS, NO_LIMIT);
    assert_true(free_granules(MAPPED) == 0 && pool_is_empty(&heaps[1]->pool));
    end_ranges();
}

/* A time that ends beyond the clock's range is none. */
static void a_limit_beyond_all_times_is_none(void **state) {
    (void)state;
    start();
    cache_ranges();
    sim_set_operation_time(COST);
    purge_for(PURGE_SHARED, NO_LIMIT - 1);
    assert_int_equal(free_granules(MAPPED), 0);
    end_ranges();
}

/* What other threads have freed in the caller's full slabs goes, too. */
static void a_purge_takes_what_other_threads_have_freed(void **state) {
    (void)state;
    start();
    fill_slabs_of(0);
    free_filled(1);
    assert_true(heaps[0]->in_use_count > 1);
    purge_for(PURGE_OWN, NO_LIMIT);
    assert_int_equal(heaps[0]->in_use_count, 0);
    finish();
}

static void each_level_gives_back_more(void **state) {
    (void)state;
    start();
    empty_slabs_of(1);
    assert_false(pool_is_empty(&heaps[1]->pool));
    purge_for(PURGE_SHARED, NO_LIMIT);
    assert_false(pool_is_empty(&heaps[1]->pool));
    purge_for(PURGE_THREADS, NO_LIMIT);
    assert_true(pool_is_empty(&heaps[1]->pool));
    void *own = allocate_as(0, SLAB_SIZE); /* its slab is current when the object is free again */
    free_as(0, own);
    purge_for(PURGE_THREADS, NO_LIMIT);
    assert_int_equal(heaps[0]->in_use_count, 1);
    purge_for(PURGE_OWN, NO_LIMIT);
    assert_true(heaps[0]->in_use_count == 0 && pool_is_empty(&heaps[0]->pool));
    finish();
}

/* One piece a call: no part is left out, and none is done for ever. */
static void calls_without_time_do_all_in_the_end(void **state) {
    (void)state;
    start();
    empty_slabs_of(2);
    void *middle = allocate_as(0, FRONTEND_MAX + 1), *large = allocate_as(0, BACKEND_MIN);
    free_as(0, middle);
    free_as(0, large);
    sim_set_operation_time(1);
    for (unsigned calls = 0; free_granules(MAPPED) > 0 || !pool_is_empty(&heaps[2]->pool); calls++) {
        assert_true(calls < MANY_CALLS);
        purge_for(PURGE_OWN, 0);
    }
    sim_set_operation_time(0);
    finish();
}

/* A call that goes on in the midst of the first step makes that step whole once more. */
static void what_a_call_has_passed_is_looked_at_again(void **state) {
    (void)state;
    start();
    purge_for(PURGE_OWN, NO_LIMIT);
    sim_set_operation_time(1);
    void *before = allocate_as(0, 16);
    for (unsigned classes = 0; classes < SIZE_CLASS_COUNT / 2; classes++) purge_for(PURGE_OWN, 0);
    free_as(0, before);
    sim_set_operation_time(0);
    assert_int_equal(heaps[0]->in_use_count, 1);
    purge_for(PURGE_OWN, NO_LIMIT);
    assert_int_equal(heaps[0]->in_use_count, 0);
    finish();
}

static void purge_often(enum purge_level level) {
    for (unsigned calls = 0; calls < MANY_CALLS; calls++) purge_for(level, 0);
}

/* The range comes back to the list where the purge stands. The next calls must not take it again and again. */
static void a_refused_range_holds_no_purge_up(void **state) {
    (void)state;
    start();
    fill_slabs_of(1);
    cache_ranges();
    sim_set_operation_time(1);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    purge_often(PURGE_THREADS);
    free_filled(1); /* work for an earlier step than the ranges */
    assert_false(pool_is_empty(&heaps[1]->pool));
    purge_often(PURGE_THREADS);
    assert_true(pool_is_empty(&heaps[1]->pool));
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    purge_for(PURGE_THREADS, NO_LIMIT);
    assert_int_equal(free_granules(MAPPED), 0);
    end_ranges();
}

/* The largest ranges for small slabs come first in their Nest, which is not looked at again behind the last one. */
static void a_purge_tries_a_refused_root_once(void **state) {
    (void)state;
    bool zeroed;
    start();
    purge_for(PURGE_OWN, NO_LIMIT);
    options.cache_min = options.reclaim_start = SIZE_MAX;
    granule_id keeper = granule_of(backend_fetch(FOR_SMALL_SLABS, 1, &zeroed));
    granule_id root = granule_of(backend_fetch(FOR_SMALL_SLABS, ROOT_GRANULES, &zeroed));
    backend_place(root);
    assert_int_equal(free_granules(MAPPED), ROOT_GRANULES);
    sim_fail_only(SIM_DISCARD | SIM_UNMAP);
    sim_fail_after(0);
    uint64_t refused = sim_refused();
    assert_true(thrift_purge_ranges(&(struct purge){.until = NO_LIMIT}));
    assert_int_equal(sim_refused() - refused, 2); /* the pages, and then the root */
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    backend_place(keeper);
    finish();
}

/* Calls of a higher level in between must not make those of a lower one begin anew. */
static void levels_do_not_disturb_each_other(void **state) {
    (void)state;
    start();
    cache_ranges();
    empty_slabs_of(1);
    sim_set_operation_time(1);
    for (unsigned calls = 0; !pool_is_empty(&heaps[1]->pool); calls++) {
        assert_true(calls < MANY_CALLS);
        purge_for(PURGE_THREADS, 0);
        purge_for(PURGE_SHARED, 0);
    }
    end_ranges();
}

/* Slabs of a sleeping thread that a round has given back, until that thread looks. */
static uint64_t slabs_given_back(void) {
    struct frontend_statistics statistics;
    frontend_statistics(&statistics);
    return statistics.given_back / GRANULE_SIZE;
}

enum { IN_TWO_ROOTS = 2 * ROOT_GRANULES + 2 * SLAB_COUNT };

static void *many[IN_TWO_ROOTS];

/* A sleeping thread's slabs, in two roots, whose objects another thread frees. */
static void leave_to_rounds(void) {
    start();
    purge_for(PURGE_OWN, NO_LIMIT);
    remote_reclaim_round(true); /* nothing is left of what was before */
    remote_reclaim_round(false);
    options.reclaim_start = SIZE_MAX;
    for (unsigned i = 0; i < IN_TWO_ROOTS; i++) many[i] = allocate_as(1, FRONTEND_MAX - SLAB_SIZE);
    for (unsigned i = 0; i < IN_TWO_ROOTS; i++) free_as(0, many[i]);
    assert_true(root_count() > 1);
    assert_true(remote_work_begin_period()); /* rounds know of these frees no longer */
    assert_int_equal(slabs_given_back(), 0);
}

/* No thread frees more: only rounds know of what is left. */
static void check_that_rounds_go_on(uint64_t done) {
    remote_reclaim_round(false);
    remote_reclaim_round(false); /* what one has seen empty the next one gives back */
    uint64_t given = slabs_given_back();
    assert_true(given > done && given > ROOT_GRANULES);
    remote_reclaim_round(true);
    assert_int_equal(slabs_given_back(), given);
    finish();
}

static void what_the_system_refuses_is_the_next_rounds(void **state) {
    (void)state;
    for (unsigned is_purge = 0; is_purge < 2; is_purge++) {
        leave_to_rounds();
        sim_fail_only(SIM_DISCARD);
        sim_fail_after(0);
        if (is_purge) assert_true(remote_reclaim_purge(&(struct purge){.until = NO_LIMIT}));
        else remote_reclaim_round(true);
        assert_int_equal(slabs_given_back(), 0);
        sim_fail_after(SIM_NEVER);
        sim_fail_only(SIM_ANY);
        check_that_rounds_go_on(0);
    }
}

/* Such a caller gives nothing back itself: the reclamation thread is to do it. */
static void a_spared_caller_asks_the_thread(void **state) {
    (void)state;
    start();
    purge_for(PURGE_OWN, NO_LIMIT);
    reclaimer_take_request();
    purge_for(PURGE_SHARED, NO_LIMIT);
    assert_false(reclaimer_take_request());
    options.spare_callers = true;
    purge_for(PURGE_SHARED, NO_LIMIT);
    assert_true(reclaimer_take_request());
    options.spare_callers = false;
    finish();
}

static void free_once_more(void) {
    jw_free(many[0]);
}

/* Its slab's memory has gone by then. */
static void a_second_free_after_a_round_is_told(void **state) {
    (void)state;
    leave_to_rounds();
    remote_reclaim_round(true);
    expect_abort(free_once_more, "double free");
    finish();
}

static void what_a_purge_has_no_time_for_is_the_next_rounds(void **state) {
    (void)state;
    leave_to_rounds();
    assert_false(remote_reclaim_purge(&(struct purge){.until = 0}));
    uint64_t done = slabs_given_back();
    assert_true(done > 0 && done <= ROOT_GRANULES);
    check_that_rounds_go_on(done);
}

/* One heap at a time; with time enough all of them, and only once. */
static void heaps_of_ended_threads_go_one_by_one(void **state) {
    (void)state;
    start();
    purge_for(PURGE_OWN, NO_LIMIT);
    for (unsigned heap = 1; heap < HEAPS; heap++) empty_slabs_of(heap);
    struct heap *ended[] = {heaps[1], heaps[2]};
    uint32_t before = heap_abandoned_count();
    for (unsigned i = 0; i < 2; i++) heap_abandon(ended[i]);
    unsigned stack = heap_waiting_stack();
    assert_false(heap_purge_ended(&(struct purge){.until = 0}));
    assert_true(pool_is_empty(&ended[0]->pool) != pool_is_empty(&ended[1]->pool));
    assert_int_equal(heap_waiting_stack(), stack);
    assert_true(heap_purge_ended(&(struct purge){.until = NO_LIMIT}));
    assert_true(pool_is_empty(&ended[0]->pool) && pool_is_empty(&ended[1]->pool));
    assert_int_equal(heap_waiting_stack(), !stack);
    assert_int_equal(heap_abandoned_count(), before + 2);
    heaps[1] = heap_take_or_create();
    heaps[2] = heap_take_or_create();
    sim_take_thread();
    reclaimer_forget();
    finish();
}

static void caches_of_all_heaps_go_one_by_one(void **state) {
    (void)state;
    start();
    purge_for(PURGE_OWN, NO_LIMIT);
    for (unsigned heap = 0; heap < HEAPS; heap++) {
        empty_slabs_of(heap);
        free_as(heap, allocate_as(heap, BACKEND_MIN));
    }
    struct purge purge = {.until = 0};
    unsigned calls = 1;
    while (!heap_purge_caches(&purge)) {
        assert_int_equal(purge.place, calls);
        assert_true(calls++ <= heap_count());
    }
    for (unsigned heap = 0; heap < HEAPS; heap++) {
        assert_true(pool_is_empty(&heaps[heap]->pool));
        assert_int_equal(range_cache_granules(&heaps[heap]->range_cache), 0);
    }
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_purge_ends_in_time_and_the_next_one_goes_on),
        cmocka_unit_test(without_a_limit_one_call_does_all),
        cmocka_unit_test(a_limit_beyond_all_times_is_none),
        cmocka_unit_test(a_purge_takes_what_other_threads_have_freed),
        cmocka_unit_test(each_level_gives_back_more),
        cmocka_unit_test(calls_without_time_do_all_in_the_end),
        cmocka_unit_test(what_a_call_has_passed_is_looked_at_again),
        cmocka_unit_test(a_refused_range_holds_no_purge_up),
        cmocka_unit_test(a_purge_tries_a_refused_root_once),
        cmocka_unit_test(levels_do_not_disturb_each_other),
        cmocka_unit_test(heaps_of_ended_threads_go_one_by_one),
        cmocka_unit_test(caches_of_all_heaps_go_one_by_one),
        cmocka_unit_test(what_the_system_refuses_is_the_next_rounds),
        cmocka_unit_test(a_spared_caller_asks_the_thread),
        cmocka_unit_test(a_second_free_after_a_round_is_told),
        cmocka_unit_test(what_a_purge_has_no_time_for_is_the_next_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
