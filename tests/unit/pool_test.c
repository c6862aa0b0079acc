/* pool_test.c - a heap's pool in numbers: how much of it is unused, how much it may hold, how many slabs a heap fetches
 * together (frontend/pool.h, heap_pool.h). */
#include "heap_players.h"

#include "config/policy.h"
#include "frontend/heap_pool.h"
#include "frontend/heap_table.h"
#include "frontend/slab_lists.h"

enum { SLABS = 64, PER_SLAB = GRANULE_SIZE / FRONTEND_MAX };

/* Empty slabs, linked by `next`. */
static struct slab *some_slabs(void) {
    static void *objects[SLABS * PER_SLAB];
    start();
    options.pool_min = SLABS;
    for (unsigned i = 0; i < SLABS * PER_SLAB; i++) objects[i] = allocate_as(0, FRONTEND_MAX);
    for (unsigned i = 0; i < SLABS * PER_SLAB; i++) free_as(0, objects[i]);
    heap_collect(heaps[0], COLLECT_ALL);
    assert_int_equal(heaps[0]->in_use_count, 0);
    return pool_take_all(&heaps[0]->pool);
}

static void push_some(struct pool *pool, struct slab **slabs, unsigned count) {
    for (struct slab *slab; count > 0; count--) {
        CHECK((slab = *slabs));
        *slabs = slab_by_id(&slab->freed.next);
        pool_push(pool, slab);
    }
}

static void end_slabs(struct slab *slabs) {
    for (struct slab *slab = slabs, *next; slab; slab = next) {
        next = slab_by_id(&slab->freed.next);
        pool_push(&heaps[0]->pool, slab);
    }
    finish();
}

static void half_of_the_unused_ones_go(void **state) {
    (void)state;
    struct pool pool = {0};
    struct slab *slabs = some_slabs(), *two[2];
    push_some(&pool, &slabs, 7);
    pool_count_unused(&pool); /* there were none at first */
    assert_int_equal(pool_take_unused(&pool, 9), 0);
    pool_count_unused(&pool);
    assert_int_equal(pool_take_unused(&pool, 3), 3);
    assert_int_equal(pool_take_unused(&pool, 3), 1); /* 4 of 7 */
    assert_int_equal(pool_take_unused(&pool, 3), 0);
    for (unsigned i = 0; i < 2; i++) two[i] = pool_pop(&pool);
    for (unsigned i = 0; i < 2; i++) pool_push(&pool, two[i]);
    pool_count_unused(&pool); /* 5 were never used */
    assert_int_equal(pool_take_unused(&pool, 9), 3);
    push_some(&pool, &slabs, 1);
    pool_count_unused(&pool);
    assert_int_equal(pool_take_unused(&pool, 9), 4); /* 7 */
    pool_count_unused(&pool);
    assert_int_equal(pool_take_unused(&pool, 4), 4); /* 8 */
    struct slab *all = pool_take_all(&pool);
    assert_true(pool_count(&pool) == 8 && pool_is_empty(&pool)); /* a round does not count */
    assert_null(pool_pop(&pool));
    assert_int_equal(pool_count(&pool), 0);
    pool_count_unused(&pool);
    assert_int_equal(pool_take_unused(&pool, 9), 0);
    push_some(&pool, &all, 2);
    struct slab *rest = pool_take_all(&pool);
    push_some(&pool, &all, 1);
    assert_int_equal(pool_count(&pool), 1); /* the push finds that a round was there */
    pool_push(&heaps[0]->pool, pool_pop(&pool));
    push_some(&heaps[0]->pool, &rest, 2);
    push_some(&heaps[0]->pool, &all, 5);
    end_slabs(slabs);
}

static void little_use_is_less_than_four(void **state) {
    (void)state;
    struct pool pool = {0};
    struct slab *slabs = some_slabs(), *slab;
    assert_true(pool_begin_period(&pool));
    push_some(&pool, &slabs, 1);
    pool_begin_period(&pool);
    for (unsigned uses = 0; uses < 2 * POOL_LITTLE_USE; uses += 2) { /* pairs of a pop and a push */
        for (unsigned i = 0; i < uses; i += 2) pool_push(&pool, pool_pop(&pool));
        assert_int_equal(pool_begin_period(&pool), uses < POOL_LITTLE_USE);
        for (unsigned i = 0; i < uses; i += 2) pool_push(&pool, pool_pop(&pool));
        slab = pool_pop(&pool);
        assert_int_equal(pool_begin_period(&pool), uses + 1 < POOL_LITTLE_USE);
        pool_push(&pool, slab);
        pool_begin_period(&pool);
    }
    assert_true(pool_begin_period(&pool));
    pool_push(&heaps[0]->pool, pool_pop(&pool));
    end_slabs(slabs);
}

/* One slab more than it may hold, and two go. */
static void check_limit(unsigned limit) {
    struct pool *pool = &heaps[0]->pool;
    CHECK(pool->count > limit + 1);
    struct slab *spare[SLABS] = {NULL};
    unsigned count = 0;
    while (pool->count > limit - 1) spare[count++] = pool_pop(pool);
    heap_push_empty(heaps[0], spare[--count]);
    assert_int_equal(pool->count, limit);
    heap_push_empty(heaps[0], spare[--count]);
    assert_int_equal(pool->count, limit + 1 - GIVE_AT_ONCE);
    while (count > 0) pool_push(pool, spare[--count]);
}

static void a_pool_has_three_limits(void **state) {
    (void)state;
    struct slab *slabs = some_slabs();
    push_some(&heaps[0]->pool, &slabs, SLABS);
    thrift_forget_peak();
    options.pool_min = 5;
    options.pool_percent = 10;
    options.pool_total = 0;
    check_limit(5);
    uint32_t *in_use = &heaps[0]->in_use_count;
    *in_use = 59;
    check_limit(5);
    *in_use = 60;
    check_limit(6);
    *in_use = 69;
    check_limit(6);
    options.pool_total = (size_t)heap_count() * 7 * GRANULE_SIZE;
    check_limit(7);
    options.pool_total -= 1;
    check_limit(6);
    *in_use = 160; /* a quarter of ten percent are two: less than at 250 */
    check_limit(16);
    thrift_make_headroom((size_t)ROOT_GRANULES * 4);
    assert_true(thrift_is_at_peak());
    *in_use = 399;
    check_limit(7); /* 2 of 100 */
    *in_use = 400;
    check_limit(8);
    thrift_forget_peak();
    *in_use = 0;
    end_slabs(slabs);
}

granule_id __real_backend_fetch_granules(uint32_t *count, bool *zeroed);
granule_id __wrap_backend_fetch_granules(uint32_t *count, bool *zeroed);

static uint32_t wanted;

granule_id __wrap_backend_fetch_granules(uint32_t *count, bool *zeroed) {
    wanted = *count;
    return __real_backend_fetch_granules(count, zeroed);
}

/* An eighth of what is in use, 16 at most. All but one of them wait in the pool. */
static void slabs_are_fetched_in_eighths(void **state) {
    (void)state;
    start();
    struct heap *heap = heaps[0];
    for (unsigned in_use = 0; in_use <= 140; in_use++) {
        unsigned count = in_use / 8;
        heap->in_use_count = in_use;
        heap->wants_slabs = true;
        struct slab *slab = heap_fetch_slab(heap, 0);
        assert_true(slab && !heap->wants_slabs);
        assert_int_equal(wanted, count < 1 ? 1 : count > 16 ? 16 : count);
        heap->in_use_count = 0;
        slab_set_state(slab, EMPTY); /* as the others */
        slab_set_origin(slab, slab->origin + ORIGIN_POISON);
        pool_push(&heap->pool, slab);
        heap_drain(heap);
        assert_true(slab_has_key(slab, 0)); /* what begins there now is no slab */
    }
    heap_scatter(heap, 5);
    assert_int_equal(heap->pool.count, 5);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_unused_ones_go),
        cmocka_unit_test(little_use_is_less_than_four),
        cmocka_unit_test(a_pool_has_three_limits),
        cmocka_unit_test(slabs_are_fetched_in_eighths),
    };
    CHECK(allocator_start());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
