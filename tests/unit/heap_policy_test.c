/* heap_policy_test.c - what the numbers of a heap in config/policy.h decide. The other tests of heaps hold with any
 * policy. coarse_test.c tests the policy of the coarse size classes. */
#include "backend/reclaimer_words.h"
#include "frontend/heap_pool.h"
#include "frontend/heap_rounds.h"
#include "frontend/remote_reclaim.h"
#include "frontend/remote_work.h"
#include "frontend/slab_cross.h"
#include "heap_ends.h"

enum { SMALL = 224 }; /* none of these is cached */

static void full_slabs_reopen_after_a_share(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        unsigned share = size_class_capacity(class) / JW_REOPEN_SHARE;
        if (!size_classes[class].cache_room)
            assert_int_equal(size_classes[class].frees_until_reopen, share ? share : 1);
    }
}

static unsigned waiting_to_be_taken_back(void) {
    unsigned count = 0;
    for (granule_id id = heaps[0]->reopened_taken; id; id = range_next(id)) count++;
    return count;
}

/* No malloc waits until hundreds are looked at. */
static void reopened_slabs_come_back_a_few_at_a_time(void **state) {
    (void)state;
    start();
    enum { MANY = 5 * TAKE_AT_ONCE };
    unsigned capacity = size_class_capacity(size_class_of(SMALL)), count = MANY * capacity + 1;
    static void *objects[MANY << (JW_GRANULE_SHIFT - 7)];
    for (unsigned i = 0; i < count; i++) objects[i] = allocate_as(0, SMALL);
    for (unsigned i = 0; i < count; i += capacity) free_as(1, objects[i]);
    assert_int_equal(heaps[0]->reopened_taken, 0);
    for (unsigned left = MANY + 1, i = 0; left > 0; i++) { /* the current one, too */
        assert_true(i < MANY);
        void *other = allocate_as(0, 16 << i % 6); /* a class that has to look for a slab */
        unsigned now = waiting_to_be_taken_back();
        assert_true(left - now <= 2 * TAKE_AT_ONCE); /* as many more where it collects */
        left = now;
        walk_all();
        free_as(0, other);
    }
    for (unsigned i = 0; i < count; i++)
        if (i % capacity) free_as(0, objects[i]);
    finish();
}

/* Others free first, the owner frees the last objects of each slab, and then makes no more call. */
static void few_slabs_stay_reopening(void **state) {
    (void)state;
    start();
    enum { MANY = 4 * (TAKE_FOR_REOPENING + 1) };
    unsigned class = size_class_of(SMALL), capacity = size_class_capacity(class), reopening = 0;
    unsigned own = size_classes[class].frees_until_reopen, count = MANY * capacity;
    static void *objects[MANY << (JW_GRANULE_SHIFT - 7)];
    for (unsigned i = 0; i < count; i++) objects[i] = allocate_as(0, SMALL);
    void *last = allocate_as(0, SMALL);
    for (unsigned i = 0; i < count; i++)
        if (i % capacity >= own) free_as(1, objects[i]);
    walk_all();
    for (unsigned i = 0; i < count; i++)
        if (i % capacity < own) free_as(0, objects[i]);
    walk_all();
    for (unsigned i = 0; i < count; i += capacity) reopening += slab_of(objects[i])->state == REOPENING;
    assert_int_equal(reopening, QUARANTINED ? 0 : MANY / (TAKE_FOR_REOPENING + 1));
    free_as(0, last);
    finish();
}

static void a_large_pool_is_left_to_a_round(void **state) {
    (void)state;
    for (int has_thread = 0; has_thread < 2; has_thread++)
        for (unsigned count = POOL_ROUND_FROM / 2; count <= 4 * POOL_ROUND_FROM; count *= 2) {
            if (count == FEW_SLABS) continue; /* the heap has some more, which it has fetched together */
            start();
            options.reclaim_thread = has_thread;
            options.pool_min = SLABS;
            options.reclaim_start = SIZE_MAX; /* only what the thread's end asks for */
            struct heap *heap = run(leave_a_pool, &count);
            walk_heap(heap);
            assert_int_equal(asked, has_thread && count >= POOL_ROUND_FROM);
            bool for_next_thread = count <= FEW_SLABS; /* the only abandoned heap */
            assert_int_equal(pool_is_empty(&heap->pool), !asked && !for_next_thread);
            thrift_purge();
            assert_true(pool_is_empty(&heap->pool));
            finish();
        }
}

enum { LEFT_MOST = FEW_SLABS + POOL_ROUND_FROM + 4 }; /* slabs */

struct leaving {
    unsigned pooled, in_use;
    bool beside_another; /* heap that waits */
    bool free_slab;      /* of the largest class, which looks in use until it is collected */
};

/* Ends with exactly so many slabs. Those in use are full. */
static void *leave_exactly(void *what) {
    const struct leaving *leaving = what;
    struct leaving nothing = {0};
    jw_free(jw_malloc(FRONTEND_MAX)); /* takes a heap now */
    if (leaving->beside_another) run(leave_exactly, &nothing);
    for (unsigned i = 0; i < LEFT_MOST * PER_SLAB; i++) many[i] = jw_malloc(FRONTEND_MAX);
    for (unsigned i = 0; i < LEFT_MOST * PER_SLAB; i++)
        if (i >= leaving->in_use * PER_SLAB) jw_free(many[i]);
    struct heap *mine = thread.heap;
    heap_collect(mine, COLLECT_ALL);
    heap_place_empty(mine, mine->pool.count - leaving->pooled);
    CHECK(mine->pool.count == leaving->pooled && mine->in_use_count == leaving->in_use);
    if (leaving->free_slab) jw_free(jw_malloc(FRONTEND_MAX));
    return end_thread();
}

/* Where our thread does not live: the program's next thread gets the only heap that waits as it is, if it has few
 * slabs, pooled or in use. The pool of another one goes back at once. */
static void few_slabs_are_the_next_threads(void **state) {
    (void)state;
    for (unsigned slabs = FEW_SLABS - 1; slabs <= FEW_SLABS + 1; slabs++)
        for (unsigned in_use = 0; in_use < slabs; in_use += slabs / 2) {
            struct leaving leaving = {.pooled = slabs - in_use, .in_use = in_use};
            start();
            options.reclaim_thread = THREAD_FALSE;
            options.pool_min = SLABS;
            options.reclaim_start = SIZE_MAX; /* only what the thread's end asks for */
            struct heap *heap = run(leave_exactly, &leaving);
            assert_int_equal(pool_is_empty(&heap->pool), slabs > FEW_SLABS);
            assert_int_equal(heap->pool.count, leaving.pooled); /* of those that have gone, too */
            assert_int_equal(heap->in_use_count, in_use);
            walk_heap(heap);
            for (unsigned i = 0; i < in_use * PER_SLAB; i++) free_as(0, many[i]);
            thrift_purge();
            finish();
        }
}

/* Where another heap waits already, the next thread gets that one. */
static void a_second_heap_is_no_next_threads(void **state) {
    (void)state;
    struct leaving leaving = {.pooled = FEW_SLABS, .beside_another = true};
    start();
    options.reclaim_thread = THREAD_FALSE;
    options.pool_min = SLABS;
    options.reclaim_start = SIZE_MAX;
    struct heap *heap = run(leave_exactly, &leaving);
    assert_int_equal(heap_abandoned_count(), 2);
    assert_true(pool_is_empty(&heap->pool));
    thrift_purge();
    finish();
}

/* Where our thread lives, only the end of a thread with few slabs looks whether they are free; a round sees to the
 * others. */
static void rounds_look_at_many_slabs(void **state) {
    (void)state;
    for (unsigned in_use = FEW_SLABS - 1; in_use <= FEW_SLABS + 1; in_use++) {
        struct leaving leaving = {.pooled = 1, .in_use = in_use - 1, .free_slab = true};
        start();
        options.pool_min = SLABS;
        options.reclaim_start = SIZE_MAX;
        struct heap *heap = run(leave_exactly, &leaving);
        assert_true(asked);
        assert_int_equal(heap->in_use_count, in_use <= FEW_SLABS ? in_use - 1 : in_use);
        for (unsigned i = 0; i < (in_use - 1) * PER_SLAB; i++) free_as(0, many[i]);
        thrift_purge();
        finish();
    }
}

/* A round gives back the pool of a thread that has ended, if the pool is worth one. Else the thread does. */
static void a_pool_of_so_many_asks_for_a_round(void **state) {
    (void)state;
    for (unsigned pooled = POOL_ROUND_FROM - 1; pooled <= POOL_ROUND_FROM + 1; pooled++) {
        struct leaving leaving = {.pooled = pooled, .beside_another = true};
        start();
        options.pool_min = SLABS;
        options.reclaim_start = SIZE_MAX;
        struct heap *heap = run(leave_exactly, &leaving);
        assert_int_equal(asked, pooled >= POOL_ROUND_FROM);
        assert_int_equal(pool_is_empty(&heap->pool), !asked);
        thrift_purge();
        finish();
    }
}

/* Also one slab in use: then another round has to look. Two rounds, as a heap goes to the other stack. */
static void a_slab_in_use_is_work_for_another_round(void **state) {
    (void)state;
    for (unsigned in_use = 0; in_use < 3; in_use++) {
        struct leaving leaving = {.in_use = in_use};
        start();
        options.reclaim_start = SIZE_MAX;
        run(leave_exactly, &leaving);
        for (unsigned round = 0; round < 2; round++) assert_int_equal(heap_drain_abandoned(), in_use > 0);
        for (unsigned i = 0; i < in_use * PER_SLAB; i++) free_as(0, many[i]);
        assert_false(heap_drain_abandoned());
        thrift_purge();
        finish();
    }
}

/* The round leaves it to the thread, and another one must come to find it idle. */
static void a_pool_in_use_asks_for_another_round(void **state) {
    (void)state;
    start();
    enum { COUNT = POOL_LITTLE_USE + 1 };
    options.pool_min = COUNT;
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) many[i] = allocate_as(0, FRONTEND_MAX);
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) free_as(0, many[i]);
    heap_collect(heaps[0], COLLECT_ALL); /* with the cached objects */
    reclaimer_take_request();
    assert_true(heap_pool_round(heaps[0], false) && !pool_is_empty(&heaps[0]->pool));
    assert_true(reclaimer_take_request());
    assert_false(heap_pool_round(heaps[0], false));
    assert_true(pool_is_empty(&heaps[0]->pool) && !reclaimer_take_request());
    finish();
}

/* So a sleeping owner's slabs do not wait for it. */
static void frees_of_other_threads_ask_for_rounds(void **state) {
    (void)state;
    start();
    unsigned requests = 0;
    reclaimer_take_request();
    for (unsigned i = 0; i < 3 * REMOTE_ROUND_FROM; i++) {
        remote_work_note();
        requests += reclaimer_take_request();
    }
    assert_int_equal(requests, 3);
    finish();
}

static void a_push_to_a_full_slab_is_work_for_a_round(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < 2 * PER_SLAB; i++) many[i] = allocate_as(0, FRONTEND_MAX);
    uint32_t before = remote_work_count();
    free_as(1, many[0]); /* the first slab became full when the second one was taken */
    assert_int_equal(remote_work_count(), before + 1);
    for (unsigned i = 1; i < 2 * PER_SLAB; i++) free_as(0, many[i]);
    finish();
}

enum { LATE_SLABS = 2 * REMOTE_ROUND_FROM, MOST_SLABS = LATE_SLABS + REMOTE_WAITING_FROM };
static char *late[MOST_SLABS << (JW_GRANULE_SHIFT - 7)], *last;

/* The objects of so many full slabs. Returns how many objects a slab has. */
static unsigned fill_slabs(unsigned slabs) {
    unsigned capacity = size_class_capacity(size_class_of(SMALL));
    remote_reclaim_round(true); /* forgets what other tests have left */
    for (unsigned i = 0; i < slabs * capacity; i++) late[i] = allocate_as(0, SMALL);
    last = allocate_as(0, SMALL);
    return capacity;
}

static unsigned fill_late_slabs(void) {
    return fill_slabs(LATE_SLABS);
}

/* Frees of each slab the objects from one place to another one. */
static void free_late(unsigned heap, unsigned from, unsigned to) {
    unsigned capacity = size_class_capacity(size_class_of(SMALL));
    for (unsigned slab = 0; slab < LATE_SLABS; slab++)
        for (unsigned i = from; i < to; i++) free_as(heap, late[slab * capacity + i]);
}

static unsigned count_taken(unsigned capacity) {
    unsigned taken = 0;
    for (unsigned slab = 0; slab < LATE_SLABS; slab++) taken += slab_is_taken(slab_of(late[slab * capacity]));
    return taken;
}

/* The rounds that other threads' frees have asked for are over when the owner frees the rest. It makes no other call.
 * Rounds look as long as it frees, and no longer: then the process is idle. */
static void an_owner_that_frees_late_is_seen(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_late_slabs();
    free_late(1, capacity / 2, capacity);
    assert_true(remote_reclaim_round(false)); /* watches the slabs */
    assert_false(remote_reclaim_round(false));
    uint32_t noted = remote_work_count();
    reclaimer_take_request();
    free_late(0, 2, capacity / 2); /* opens the slabs */
    assert_int_equal(remote_work_count(), noted + LATE_SLABS);
    assert_true(reclaimer_take_request());
    assert_true(remote_reclaim_round(false));
    assert_false(remote_reclaim_round(false));
    free_late(0, 1, 2); /* no slow path any more */
    assert_int_equal(remote_work_count(), noted + LATE_SLABS);
    assert_false(reclaimer_take_request());
    assert_true(remote_reclaim_round(false)); /* which comes for another reason */
    assert_false(remote_reclaim_round(false));
    assert_int_equal(count_taken(capacity), 0);
    free_late(0, 0, 1);
    remote_reclaim_round(false);
    assert_int_equal(count_taken(capacity), LATE_SLABS);
    assert_false(remote_reclaim_round(false));
    free_as(0, last);
    finish();
}

/* So a thread that frees now and then wakes nobody. */
static void few_late_frees_ask_for_no_round(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_late_slabs();
    free_late(1, capacity / 2, capacity);
    free_late(0, 2, capacity / 2);
    while (remote_reclaim_round(false)) {
    }
    for (unsigned i = 0; i < LATE_SLABS; i++) {
        free_as(0, late[i * capacity]);
        assert_int_equal(remote_reclaim_round(false), (i + 1) % REMOTE_ROUND_FROM == 0);
    }
    free_late(0, 1, 2);
    free_as(0, last);
    finish();
}

static bool rounds_look_again(void) {
    while (remote_reclaim_round(false)) {
    }
    return remote_reclaim_waits();
}

/* Rounds go on for a while where others have freed half of so many slabs, and the owner not the rest. */
static void rounds_go_on_where_much_waits(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_slabs(REMOTE_WAITING_FROM), half = capacity / 2;
    for (unsigned i = 0; i < REMOTE_WAITING_FROM * capacity; i++)
        if (i % capacity >= half && i != half) free_as(1, late[i]);
    assert_false(rounds_look_again());
    free_as(1, late[half]);
    assert_true(rounds_look_again());
    for (unsigned i = 0; i < REMOTE_WAITING_FROM * capacity; i++)
        if (i % capacity < half) free_as(0, late[i]);
    assert_false(rounds_look_again());
    free_as(0, last);
    finish();
}

/* A round tells Thrift of these slabs, too: a patient wait must not be as long as where nothing waits. */
static void what_waits_so_is_told_of(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_slabs(REMOTE_WAITING_FROM);
    for (unsigned i = 0; i < REMOTE_WAITING_FROM * capacity; i++)
        if (i % capacity >= capacity / 2) free_as(1, late[i]);
    while (remote_reclaim_round(false)) {
    }
    options.reclaim_start = GRANULE_SIZE;
    while (!thrift_may_hold(0)) options.reclaim_start += GRANULE_SIZE; /* what other tests have told */
    assert_true(remote_reclaim_waits());
    assert_false(thrift_may_hold(0));
    options.reclaim_start = SIZE_MAX;
    for (unsigned i = 0; i < REMOTE_WAITING_FROM * capacity; i++)
        if (i % capacity < capacity / 2) free_as(0, late[i]);
    free_as(0, last);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_slabs_reopen_after_a_share),
        cmocka_unit_test(reopened_slabs_come_back_a_few_at_a_time),
        cmocka_unit_test(few_slabs_stay_reopening),
        cmocka_unit_test(a_large_pool_is_left_to_a_round),
        cmocka_unit_test(few_slabs_are_the_next_threads),
        cmocka_unit_test(a_second_heap_is_no_next_threads),
        cmocka_unit_test(rounds_look_at_many_slabs),
        cmocka_unit_test(a_pool_of_so_many_asks_for_a_round),
        cmocka_unit_test(a_slab_in_use_is_work_for_another_round),
        cmocka_unit_test(a_pool_in_use_asks_for_another_round),
        cmocka_unit_test(frees_of_other_threads_ask_for_rounds),
        cmocka_unit_test(a_push_to_a_full_slab_is_work_for_a_round),
        cmocka_unit_test(an_owner_that_frees_late_is_seen),
        cmocka_unit_test(few_late_frees_ask_for_no_round),
        cmocka_unit_test(rounds_go_on_where_much_waits),
        cmocka_unit_test(what_waits_so_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
