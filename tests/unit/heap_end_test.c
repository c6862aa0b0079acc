/* heap_end_test.c - what becomes of a heap when its thread ends. */
#include <errno.h>

#include "core/limit.h"
#include "core/zeroed.h"
#include "frontend/heap_fork.h"
#include "frontend/heap_rounds.h"
#include "frontend/heap_table.h"
#include "frontend/suspect.h"
#include "heap_ends.h"
#include "midend/midend.h"

enum { SMALL = 224, COUNT = 100 };
static void *left[COUNT];

static void a_heap_handed_over_keeps_its_objects(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < COUNT; i++) pattern_fill(left[i] = allocate_as(0, SMALL), SMALL, i);
    uint32_t count = heap_count(), abandoned = heap_abandoned_count();
    heap_abandon(heaps[0]);
    assert_int_equal(heap_abandoned_count(), abandoned + 1);
    for (unsigned i = 0; i < 2; i++) free_as(1, left[i]); /* into a heap without a thread */
    struct heap *taken = heap_take_or_create();
    assert_ptr_equal(taken, heaps[0]);
    assert_int_equal(heap_count(), count);
    walk_all();
    for (unsigned i = 2; i < COUNT; i++) assert_true(pattern_holds(left[i], SMALL, i));
    for (unsigned i = 2; i < COUNT; i++) free_as(0, left[i]);
    finish();
}

static void *leave_objects(void *argument) {
    (void)argument;
    for (unsigned i = 0; i < COUNT; i++) {
        left[i] = jw_malloc(SMALL);
        pattern_fill(left[i], SMALL, i);
    }
    struct heap *mine = end_thread();
    CHECK(asked && thread.heap == &no_heap && heap_thread_has_ended());
    uint32_t count = heap_count();
    void *late[50]; /* in some later destructor */
    for (unsigned i = 0; i < 50; i++) late[i] = jw_malloc(i * 100);
    for (unsigned i = 0; i < 50; i++) jw_free(late[i]);
    CHECK(heap_count() == count && thread.heap == &no_heap);
    return mine;
}

static unsigned calls_at_limit;

static int count_call_at_limit(size_t size) {
    (void)size;
    return (int)++calls_at_limit;
}

/* Another thread takes all abandoned heaps, this one's too, and the OS has no memory for a further one. */
static void *ask_without_a_heap(void *has_ended) {
    unsigned count = 0;
    static struct heap *taken[256];
    if (has_ended) {
        jw_free(jw_malloc(SMALL));
        end_thread();
    }
    sim_fail_only(SIM_RESERVE);
    sim_fail_after(0);
    while ((taken[count] = heap_take_or_create())) CHECK(++count < sizeof taken / sizeof *taken);
    errno = 0;
    CHECK(!jw_malloc(SMALL) && errno == ENOMEM && thread.heap == &no_heap);
    errno = 0;
    CHECK(!allocate_zeroed(SMALL) && errno == ENOMEM && thread.heap == &no_heap);
    limit_register(count_call_at_limit);
    CHECK(!limit_hold(true) && !limit_call(SMALL) && !jw_malloc(SMALL) && calls_at_limit == 0); /* it has no heap */
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    while (count > 0) heap_abandon(taken[--count]);
    limit_register(NULL);
    CHECK(!limit_hold(true) && !limit_call(SMALL) && thread.heap == &no_heap); /* none is needed */
    limit_register(count_call_at_limit);
    void *object = jw_malloc(SMALL);
    CHECK(object && (thread.heap == &no_heap) == (has_ended != NULL));
    jw_free(object);
    CHECK(limit_call(SMALL) == (has_ended == NULL) && calls_at_limit == (has_ended == NULL));
    calls_at_limit = 0;
    limit_register(NULL);
    end_thread();
    return NULL;
}

static void *end_in_callback(void *unused) {
    jw_free(jw_malloc(SMALL));
    CHECK(!limit_hold(true));
    end_thread();
    return unused;
}

static void *begin_with_callback(void *held) {
    jw_free(jw_malloc(SMALL));
    *(bool *)held = limit_hold(false);
    end_thread();
    return NULL;
}

/* Cancelled, say. The next thread with its heap is in no callback. */
static void a_thread_may_end_in_the_callback(void **state) {
    (void)state;
    bool held = true;
    start();
    run(end_in_callback, NULL);
    run(begin_with_callback, &held);
    assert_false(held);
    finish();
}

static void a_thread_may_find_no_heap(void **state) {
    (void)state;
    start();
    run(ask_without_a_heap, NULL);
    uint32_t abandoned = heap_abandoned_count();
    run(ask_without_a_heap, &abandoned);
    assert_true(abandoned > 0 && heap_abandoned_count() == abandoned);
    finish();
}

static bool keeps_mid_slabs(const struct heap *heap) {
    for (unsigned i = 0; i < MID_CACHES; i++)
        if (heap->mid_caches[i].cached || heap->mid_caches[i].held_bytes) return true;
    return false;
}

static void *use_mid_objects(void *argument) {
    (void)argument;
    void *object = jw_malloc(FRONTEND_MAX + 1), *again;
    struct heap *mine = thread.heap;
    CHECK(mine != &no_heap && atomic_load(&mine->thread) != 0);
    jw_free(object);
    again = jw_malloc(FRONTEND_MAX + 1);
    jw_free(again);
    CHECK(object == again && mine->in_use_count == 0);
    end_thread();
    CHECK(!asked);
    return mine;
}

static void a_thread_of_mid_objects_only_caches_them(void **state) {
    (void)state;
    start();
    assert_false(keeps_mid_slabs(run(use_mid_objects, NULL)));
    thrift_purge();
    assert_int_equal(root_count(), 0);
    finish();
}

/* What is drained has its pages until Thrift's rounds have looked at it. */
static void draining_gives_no_page_back(void **state) {
    (void)state;
    start();
    jw_free(jw_malloc(SMALL));
    size_t given_back = thrift_given_back();
    heap_drain_own();
    assert_true(pool_is_empty(&heaps[0]->pool) && free_granules(MAPPED) > 0);
    assert_int_equal(thrift_given_back(), given_back);
    finish();
}

static void a_round_drains_the_heaps_of_ended_threads(void **state) {
    (void)state;
    start();
    struct heap *heap = run(leave_objects, NULL);
    assert_int_equal(heap_abandoned_count(), 1);
    thrift_purge();
    walk_heap(heap);
    assert_true(heap->in_use_count > 0 && pool_is_empty(&heap->pool));
    for (unsigned i = 0; i < COUNT; i++) {
        assert_true(pattern_holds(left[i], SMALL, i));
        free_as(0, left[i]);
    }
    thrift_purge();
    assert_int_equal(heap_abandoned_count(), 1);
    assert_int_equal(heap->in_use_count, 0);
    assert_true(pool_is_empty(&heap->pool));
    assert_int_equal(root_count(), 0);
    finish();
}

/* More slabs than it has classes remain, some empty, and a held slab of the midend. */
static void *leave_slabs(void *argument) {
    (void)argument;
    for (unsigned i = 0; i < SLABS * PER_SLAB; i++) many[i] = jw_malloc(FRONTEND_MAX);
    for (unsigned i = 0; i < SLABS * PER_SLAB / 2; i++) jw_free(many[i]);
    jw_free(jw_malloc(FRONTEND_MAX + 1));
    return end_thread();
}

/* All objects were freed by another thread meanwhile. */
static void *leave_reopened_slabs(void *argument) {
    (void)argument;
    struct heap *mine = heap_attach();
    for (unsigned i = 0; i < SLABS * PER_SLAB; i++) many[i] = jw_malloc(FRONTEND_MAX);
    heap_enter(heaps[1]);
    for (unsigned i = 0; i < SLABS * PER_SLAB; i++) jw_free(many[i]);
    heap_enter(mine);
    CHECK(mine->in_use_count == SLABS);
    return end_thread();
}

/* The next thread may sleep, and does not process its reopened slabs. */
static void reopened_slabs_are_not_left_to_the_next_thread(void **state) {
    (void)state;
    start();
    struct heap *heap = run(leave_reopened_slabs, NULL);
    assert_ptr_equal(heap_take_or_create(), heap);
    walk_heap(heap);
    assert_int_equal(heap->in_use_count, 0);
    heap_abandon(heap);
    finish();
}

/* A thread that finds no memory before a round has come takes what an ended thread has left. */
static void what_is_left_serves_who_finds_no_memory(void **state) {
    (void)state;
    static void *all[ROOT_GRANULES * PER_SLAB + 1];
    unsigned count = SLABS, got = 0;
    start();
    options.pool_min = SLABS;
    struct heap *heap = run(leave_a_pool, &count);
    assert_false(pool_is_empty(&heap->pool));
    sim_fail_only(SIM_RESERVE);
    sim_fail_after(0);
    while ((all[got] = jw_malloc(FRONTEND_MAX))) got++;
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    assert_int_equal(got, root_count() * ROOT_GRANULES * PER_SLAB);
    while (got > 0) jw_free(all[--got]);
    finish();
}

/* The next thread finds it as it was, a round gives back what it does not need; where none comes, the thread does. */
static void what_a_busy_thread_leaves_is_the_next_ones(void **state) {
    (void)state;
    for (int has_thread = 0; has_thread < 2; has_thread++) {
        start();
        options.reclaim_thread = has_thread;
        struct heap *heap = run(leave_slabs, NULL);
        assert_int_equal(asked, has_thread);
        assert_int_equal(pool_is_empty(&heap->pool), !has_thread);
        assert_int_equal(keeps_mid_slabs(heap), has_thread);
        assert_int_equal(heap_abandoned_count(), 1);
        uint32_t in_use = heap->in_use_count;
        walk_heap(heap);
        assert_ptr_equal(heap_take_or_create(), heap);
        heap_abandon(heap);
        thrift_purge();
        assert_true(pool_is_empty(&heap->pool) && !keeps_mid_slabs(heap));
        struct midend_statistics midend;
        midend_statistics(heaps[0]->mid_caches, &midend);
        assert_int_equal(midend.reserved, 0); /* in the same round */
        assert_true(heap->in_use_count >= SLABS / 2 && heap->in_use_count <= in_use);
        walk_heap(heap);
        for (unsigned i = SLABS * PER_SLAB / 2; i < SLABS * PER_SLAB; i++) free_as(0, many[i]);
        thrift_purge();
        assert_int_equal(heap->in_use_count, 0);
        finish();
    }
}

/* A heap whose last slabs a round has just taken leaves nothing for another round. */
static void a_drained_heap_needs_no_more_rounds(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < COUNT; i++) left[i] = allocate_as(0, SMALL);
    heap_abandon(heaps[0]);
    for (unsigned i = 0; i < COUNT; i++) free_as(1, left[i]);
    assert_false(heap_drain_abandoned());
    assert_int_equal(heaps[0]->in_use_count, 0);
    uint32_t count = heap_count();
    while (heap_take_or_create() != heaps[0]) assert_int_equal(heap_count(), count); /* those of other tests */
    finish();
}

/* A child of a fork finds a heap that has empty slabs only, with keys of its parent's: they go before it gets a key. */
static void a_child_keeps_no_slab_with_an_old_key(void) {
    for (unsigned i = 0; i < COUNT; i++) left[i] = allocate_as(1, SMALL);
    for (unsigned i = 0; i < COUNT; i++) free_as(1, left[i]);
    heap_enter(heaps[1]);
    heap_collect(heaps[1], COLLECT_ALL);
    heap_enter(heaps[0]);
    CHECK(heaps[1]->in_use_count == 0 && !pool_is_empty(&heaps[1]->pool));
    heap_before_fork();
    heap_after_fork(true);
    heap_push_inherited(heaps[1]);
    heap_visit_inherited(heap_drain_if_freed_into, heap_push_drained);
    CHECK(pool_is_empty(&heaps[1]->pool) && !heap_is_older(heaps[1]));
}

static void the_pool_of_a_parents_heap_is_given_back(void **state) {
    (void)state;
    start();
    run_in_child(a_child_keeps_no_slab_with_an_old_key);
    finish();
}

/* An object that begins as a free one, and is freed by another thread: the heap is to settle that. */
static void leave_suspect(unsigned heap, struct heap *other) {
    char *free_one = allocate_as(heap, SMALL), *object = allocate_as(heap, SMALL);
    free_as(heap, free_one);
    memcpy(object, free_one, 16);
    heap_enter(other);
    jw_free(object);
    heap_enter(heaps[0]);
}

static bool all_are_settled;

/* An own heap, one without a thread, and an inherited one. */
static void exit_with_suspects(void) {
    struct heap *other = heap_take_or_create();
    for (unsigned i = 0; i < HEAPS; i++) leave_suspect(i, other);
    for (unsigned i = 0; i < HEAPS; i++) CHECK(heap_has_suspects(heaps[i]));
    heap_abandon(heaps[1]);
    heap_push_inherited(heaps[2]);
    all_are_settled = true;
}

/* Called after the library's destructors. */
__attribute__((destructor(101))) static void look_at_exit(void) {
    for (unsigned i = 0; i < HEAPS; i++)
        if (all_are_settled && heap_has_suspects(heaps[i])) _exit(1);
}

static void at_exit_each_heap_is_settled(void **state) {
    (void)state;
    start();
    run_in_child(exit_with_suspects);
    finish();
}

/* A mid object that its heap has cached, freed by another thread: the heap finds it in its list. */
static void settle_a_cached_object(void) {
    char *kept = allocate_as(1, FRONTEND_MAX + 1), *object = allocate_as(1, FRONTEND_MAX + 1);
    free_as(1, object);
    CHECK(kept && mid_is_cached(heaps[1]->mid_caches, object));
    free_as(2, object);
    CHECK(heap_has_suspects(heaps[1]));
    heap_settle_suspects(heaps[1]);
}

static void a_second_free_of_a_mid_object_is_told_by_its_heap(void **state) {
    (void)state;
    start();
    expect_abort(settle_a_cached_object, "jwmalloc: double free: address 0x");
    finish();
}

/* One that is in use begins as a cached one does: its heap frees it. */
static void a_mid_object_that_looks_cached_is_freed(void **state) {
    (void)state;
    start();
    uint64_t *object = allocate_as(1, FRONTEND_MAX + 1), *cached = allocate_as(1, FRONTEND_MAX + 1);
    free_as(1, cached);
    assert_true(mid_is_cached(heaps[1]->mid_caches, cached));
    object[0] = cached[0] ^ (uintptr_t)cached ^ (uintptr_t)object; /* a link to the same place, from here */
    object[1] = cached[1];
    free_as(2, object);
    assert_true(heap_has_suspects(heaps[1]));
    heap_settle_suspects(heaps[1]);
    assert_false(heap_has_suspects(heaps[1]));
    finish();
}

/* A new heap's caches of the lower tiers know its number. All else in them is 0, as it was mapped. */
static void a_new_heap_has_cached_nothing(void **state) {
    (void)state;
    static struct mid_cache mid;
    static struct range_cache ranges;
    start();
    CHECK(heap_abandoned_count() == 0);
    struct heap *heap = heap_take_or_create();
    assert_int_equal(heap->number, heap_count());
    mid.heap = heap->number;
    for (unsigned i = 0; i < MID_CACHES; i++) assert_int_equal(memcmp(&heap->mid_caches[i], &mid, sizeof mid), 0);
    assert_int_equal(memcmp(&heap->range_cache, &ranges, sizeof ranges), 0);
    heap_abandon(heap);
    finish();
}

/* What has answered that there is nothing stays empty, and can be used on. */
static void an_empty_chain_stays_empty(void **state) {
    (void)state;
    start();
    struct heap *chain = NULL;
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned again = 0; again < 2; again++) {
            assert_null(heap_chain_pop(&chain));
            assert_null(chain);
        }
        for (unsigned i = 0; i < HEAPS; i++) {
            heap_chain_push(&chain, heaps[i]);
            assert_ptr_equal(chain, heaps[i]);
        }
        for (unsigned i = HEAPS; i-- > 0;) {
            assert_ptr_equal(heap_chain_pop(&chain), heaps[i]);
            assert_ptr_equal(chain, i ? heaps[i - 1] : NULL);
        }
    }
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_heap_has_cached_nothing),
        cmocka_unit_test(an_empty_chain_stays_empty),
        cmocka_unit_test(a_heap_handed_over_keeps_its_objects),
        cmocka_unit_test(a_thread_of_mid_objects_only_caches_them),
        cmocka_unit_test(draining_gives_no_page_back),
        cmocka_unit_test(a_round_drains_the_heaps_of_ended_threads),
        cmocka_unit_test(reopened_slabs_are_not_left_to_the_next_thread),
        cmocka_unit_test(what_is_left_serves_who_finds_no_memory),
        cmocka_unit_test(what_a_busy_thread_leaves_is_the_next_ones),
        cmocka_unit_test(a_drained_heap_needs_no_more_rounds),
        cmocka_unit_test(the_pool_of_a_parents_heap_is_given_back),
        cmocka_unit_test(at_exit_each_heap_is_settled),
        cmocka_unit_test(a_second_free_of_a_mid_object_is_told_by_its_heap),
        cmocka_unit_test(a_mid_object_that_looks_cached_is_freed),
        cmocka_unit_test(a_thread_may_find_no_heap),
        cmocka_unit_test(a_thread_may_end_in_the_callback), /* leaves many heaps */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
