/* pool_rounds_test.c - what rounds do with the empty slabs that a thread keeps: two rounds give the pages back. Also
 * what an owner and a last thread leave to rounds. */
#include "core/free.h"
#include "frontend/heap_pool.h"
#include "frontend/remote_reclaim.h"
#include "frontend/remote_work.h"
#include "frontend/slab_cross.h"
#include "heap_players.h"
#include "midend/midend.h"

#include <fcntl.h>
#include <pthread.h>

enum { COUNT = 6 * POOL_ROUND_FROM, PER_SLAB = GRANULE_SIZE / FRONTEND_MAX };

void __real_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
wide_bool __real_platform_discard(void *start, size_t size);
wide_bool __wrap_platform_discard(void *start, size_t size);
void __real_thrift_on_round(enum round_stage stage, round_hook hook);
void __wrap_thrift_on_round(enum round_stage stage, round_hook hook);

static char *objects[COUNT * PER_SLAB];
static unsigned waits, kept;     /* kept: slabs of the pool at the first wait */
static unsigned discards, calls; /* calls: those that gave the pool back */
static bool refused;
static void (*to_its_end)(void); /* the reclamation thread's body, for whose end a thread waits */

static void (*at_discard)(void); /* once */

wide_bool __wrap_platform_discard(void *start, size_t size) {
    void (*now)(void) = at_discard;
    at_discard = NULL;
    discards++;
    if (now) now();
    return __real_platform_discard(start, size);
}

void __real_remote_work_note(void);
void __wrap_remote_work_note(void);

static unsigned notes; /* of work for a round, when heaps[1] had a reopened slab */

void __wrap_remote_work_note(void) {
    notes += !id_stack_is_empty(&heaps[1]->reopened);
    __real_remote_work_note();
}

static round_hook round_of_heaps; /* the frontend's part of a round */

void __wrap_thrift_on_round(enum round_stage stage, round_hook hook) {
    if (stage == ROUND_OBJECTS) round_of_heaps = hook;
    __real_thrift_on_round(stage, hook);
}

/* What the test looks at while the reclamation thread waits after its first round, and after its second. */
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    if (to_its_end) {
        void (*body)(void) = to_its_end;
        to_its_end = NULL;
        body();
        return;
    }
    waits += milliseconds >= options.reclaim_interval; /* not a wait for the next thread */
    if (waits == 1) {
        kept = heaps[1]->pool.count;
        CHECK(kept >= POOL_ROUND_FROM && discards == 0);
    }
    if (waits == 2 && !calls) {
        calls = discards;
        CHECK(pool_is_empty(&heaps[1]->pool));
        CHECK(free_granules(MAPPED) == (refused ? kept : 0));
        sim_fail_after(SIM_NEVER);
    }
    __real_platform_futex_wait(word, expected, milliseconds);
}

/* A thread empties one of each `share` slabs, forwards or backwards, and sleeps. */
static void sleep_over_rounds(unsigned share, bool backwards) {
    start();
    options.pool_min = COUNT;
    waits = discards = calls = 0;
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) objects[i] = memset(allocate_as(1, FRONTEND_MAX), 1, FRONTEND_MAX);
    sim_take_thread();
    reclaimer_forget();
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned slab = backwards ? COUNT - 1 - i : i;
        if (slab % share) continue;
        for (unsigned j = slab * PER_SLAB; j < (slab + 1) * PER_SLAB; j++) {
            free_as(1, objects[j]);
            objects[j] = NULL;
        }
    }
    if (refused) {
        sim_fail_only(SIM_DISCARD);
        sim_fail_after(0);
    }
    void (*thread)(void) = sim_take_thread();
    assert_non_null(thread);
    thread();
    assert_true(waits >= 2);
    walk_all();
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++)
        if (objects[i]) free_as(1, objects[i]);
    finish();
}

static void two_rounds_give_a_sleeping_threads_pool_back(void **state) {
    (void)state;
    for (unsigned share = 1; share <= 2; share++) {
        sleep_over_rounds(share, false);
        sleep_over_rounds(share, true);
    }
}

/* One call of the OS gives many pages back where slabs that lie side by side were emptied in turn. */
static void slabs_side_by_side_go_back_together(void **state) {
    (void)state;
    sleep_over_rounds(1, false);
    assert_true(calls >= 1 && calls <= COUNT / 16);
    sleep_over_rounds(1, true);
    assert_true(calls >= 1 && calls <= COUNT / 16);
}

/* What a pool in use has counts for the wait of the next round, and more of it ends a long wait. */
static void pools_in_use_are_told_of(void **state) {
    (void)state;
    start();
    options.pool_min = COUNT;
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) objects[i] = allocate_as(1, FRONTEND_MAX);
    reclaimer_announce_wait(2 * PATIENT); /* four times as much as usual may wait */
    reclaimer_take_wakeup();
    unsigned woken_at[2] = {0}, woken = 0;
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) {
        free_as(1, objects[i]);
        if (reclaimer_take_wakeup() && woken < 2) woken_at[woken++] = heaps[1]->pool.count;
    }
    unsigned all = heaps[1]->pool.count;
    assert_int_equal(woken_at[0], 4 * POOL_ROUND_FROM);
    assert_true(all > 4 * POOL_ROUND_FROM);
    options.reclaim_start = (size_t)all << JW_GRANULE_SHIFT >> 3; /* eight times as much may be told of now */
    assert_true(thrift_may_hold(0));
    assert_true(heap_pool_round(heaps[1], false));
    assert_false(thrift_may_hold(0));
    reclaimer_announce_wait(0);
    finish();
}

/* They are free for the next request then, and later rounds try again. */
static void refused_pages_stay(void **state) {
    (void)state;
    refused = true;
    sleep_over_rounds(1, false);
    sleep_over_rounds(2, true);
    refused = false;
}

/* A heap with many slabs fetches untouched ones together. A round gives back those that it does not use. */
static void untouched_slabs_come_together(void **state) {
    (void)state;
    unsigned fetches = 0, most = 0;
    start();
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) {
        unsigned before = heaps[1]->pool.count;
        objects[i] = allocate_as(1, FRONTEND_MAX);
        unsigned now = heaps[1]->pool.count;
        fetches += now > before;
        if (now <= most) continue;
        most = now;
        walk_all();
        heap_pool_round(heaps[1], true);
        assert_true(pool_is_empty(&heaps[1]->pool));
    }
    assert_int_equal(most, FETCHED_MOST - 1);
    assert_true(fetches <= COUNT / 4);
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) free_as(1, objects[i]);
    finish();
}

/* So it does where the free memory has pages. */
static void mapped_slabs_come_together(void **state) {
    (void)state;
    unsigned fetched = 0;
    start();
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) objects[i] = allocate_as(1, FRONTEND_MAX);
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) free_as(1, objects[i]);
    heap_drain(heaps[1]);
    assert_true(free_granules(MAPPED) >= COUNT);
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) {
        unsigned before = heaps[1]->pool.count;
        objects[i] = allocate_as(1, FRONTEND_MAX);
        if (heaps[1]->pool.count > before) fetched += heaps[1]->pool.count - before;
    }
    assert_true(fetched >= COUNT / 2);
    walk_all();
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) free_as(1, objects[i]);
    finish();
}

/* The OS refuses the page of an emptied slab. The owner comes, and does not know yet that a round has the slab. */
static void a_round_leaves_a_kept_slab_to_its_owner(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < 2 * PER_SLAB; i++) objects[i] = allocate_as(1, FRONTEND_MAX);
    for (unsigned i = 0; i < PER_SLAB; i++) free_as(2, objects[i]);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    remote_reclaim_round(true);
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    struct slab *slab = record_at(granule_of(objects[0]));
    enum slab_state before = slab_state(slab);
    assert_true(cross_is_kept(cross_get(&slab->cross)) && slab_begin_regain(slab));
    discards = 0;
    remote_reclaim_round(true);
    assert_int_equal(discards, 0);
    assert_true(cross_is_kept(cross_get(&slab->cross)));
    cross_watch_again(&slab->cross); /* the owner leaves it, after all */
    slab_set_state(slab, before);
    remote_reclaim_round(true);
    assert_true(discards == 1 && slab_is_taken(slab) && !cross_is_kept(cross_get(&slab->cross)));
    for (unsigned i = PER_SLAB; i < 2 * PER_SLAB; i++) free_as(1, objects[i]);
    finish();
}

static char *last; /* the object whose free spends the budget */

static void end_last_free(void) {
    struct slab *slab = slab_of(last);
    heap_enter(heaps[1]);
    free_own_slowly(slab, slab->target, last);
    heap_enter(heaps[0]);
    CHECK(slab_state(slab) == PARTIAL && cross_is_giving(cross_get(&slab->cross)));
}

/* An owner is in its last free of a full slab, and another thread in its first, when a round takes the slab. The owner
 * goes on while the round gives the page back. */
static void an_owner_comes_while_a_round_gives(void **state) {
    (void)state;
    enum { SIZE = 64, CAPACITY = GRANULE_SIZE / SIZE };
    start();
    for (unsigned i = 0; i < 2 * CAPACITY; i++) objects[i] = allocate_as(1, SIZE);
    struct slab *slab = slab_of(objects[0]);
    unsigned own = size_classes[slab->class].frees_until_reopen;
    last = objects[0];
    for (unsigned i = 1; i < own; i++) free_as(1, objects[i]);
    assert_true(cross_push_slowly(&slab->cross, slab_origin(slab), objects[own], slab_key(slab)));
    for (unsigned i = own + 1; i < CAPACITY; i++) free_as(0, objects[i]);
    assert_true(slab_state(slab) == FULL && slab_count_free(slab, slab->target, last));
    at_discard = end_last_free;
    remote_reclaim_round(true);
    assert_true(!at_discard && !cross_is_giving(cross_get(&slab->cross)));
    id_stack_push(&heaps[1]->reopened, record_id(slab), range_set_next);
    walk_all();
    for (unsigned i = CAPACITY; i < 2 * CAPACITY; i++) free_as(1, objects[i]);
    finish();
}

/* The child has no thread that would end the round: a round of its own gives the slab back. */
static void fork_within_a_round(void) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        sim_fork(true);
        discards = 0;
        CHECK(!remote_reclaim_round(true) && discards == 1);
        remote_reclaim_round(true);
        CHECK(discards == 1);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(!remote_reclaim_round(false)); /* the parent is in its round still */
}

static void a_childs_round_ends_what_its_parent_began(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < 2 * PER_SLAB; i++) objects[i] = allocate_as(1, FRONTEND_MAX);
    for (unsigned i = 0; i < PER_SLAB; i++) free_as(2, objects[i]);
    discards = 0;
    at_discard = fork_within_a_round;
    remote_reclaim_round(true);
    assert_true(discards == 1 && slab_is_taken(record_at(granule_of(objects[0]))));
    for (unsigned i = PER_SLAB; i < 2 * PER_SLAB; i++) free_as(1, objects[i]);
    finish();
}

static void end_with_message(void) {
    _exit(strstr(sim_last_text(), "double free") ? 1 : 2);
}

/* How a child ends that frees the object as its owner. */
static int freed_as_owner(void *object) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        sim_on_abort(end_with_message);
        free_as(1, object);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Another thread has freed all of a slab, and a round has taken the slab, but not its page: the objects look free to
 * the owner, too. */
static void an_owner_finds_its_object_in_a_taken_slab(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < 2 * PER_SLAB; i++) objects[i] = allocate_as(1, FRONTEND_MAX);
    for (unsigned i = 0; i < PER_SLAB; i++) free_as(2, objects[i]);
    assert_int_equal(freed_as_owner(objects[0]), 1);
    sim_fail_only(SIM_DISCARD);
    sim_fail_after(0);
    remote_reclaim_round(true);
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    assert_true(slab_is_taken(record_at(granule_of(objects[0]))));
    for (unsigned i = 0; i < PER_SLAB; i++) assert_int_equal(freed_as_owner(objects[i]), 1);
    for (unsigned i = PER_SLAB; i < 2 * PER_SLAB; i++) free_as(1, objects[i]);
    finish();
}

static void *end_as_the_last(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) objects[i] = jw_malloc(FRONTEND_MAX);
    for (unsigned i = 0; i < COUNT * PER_SLAB; i++) jw_free(objects[i]);
    struct heap *mine = thread_heap();
    CHECK(reclaimer_lives() && mine->pool.count >= POOL_ROUND_FROM);
    to_its_end = sim_take_thread();
    sim_thread_exit();
    CHECK(!to_its_end && !reclaimer_lives());
    return mine;
}

/* The program's last other thread ends, and the reclamation thread with it: no round comes to what would be left. */
static void the_last_thread_leaves_nothing_to_a_round(void **state) {
    (void)state;
    pthread_t thread;
    void *heap = NULL;
    start();
    reclaimer_forget();
    sim_take_thread();
    options.reclaim_thread = THREAD_AUTO;
    options.pool_min = COUNT;
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    CHECK(pthread_create(&thread, NULL, end_as_the_last, NULL) == 0 && pthread_join(thread, &heap) == 0);
    assert_true(pool_is_empty(&((struct heap *)heap)->pool));
    reclaimer_forget();
    finish();
}

/* A round that comes at once finds what was counted. */
static void work_is_counted_after_it_was_left(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < 2 * PER_SLAB; i++) objects[i] = allocate_as(1, FRONTEND_MAX);
    notes = 0;
    free_as(2, objects[0]);
    assert_int_equal(notes, 1);
    for (unsigned i = 1; i < 2 * PER_SLAB; i++) free_as(1, objects[i]);
    finish();
}

enum { HOLDERS = MID_ROUND_FROM / MID_CACHES };

/* `count` caches hold a slab with free objects each, MID_CACHES of a heap. */
static void hold(struct heap **holders, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        heap_enter(holders[i / MID_CACHES]);
        unsigned class = i % MID_CACHES;
        objects[i] = midend_allocate_uncached(thread_heap()->mid_caches, mid_shapes[class].size);
        CHECK(objects[i] && mid_hold_look(&thread_heap()->mid_caches[class].hold));
        mid_cache_renew_misses(&thread_heap()->mid_caches[class]); /* as the next object of the slab would */
    }
    heap_enter(heaps[0]);
    reclaimer_take_request();
}

/* Threads sleep with slabs that they hold. A round leaves these to the next one, which it asks for if there are many:
 * a few of each heap, but all count together. */
static void many_held_slabs_ask_for_the_next_round(void **state) {
    (void)state;
    struct heap *holders[HOLDERS];
    start();
    for (unsigned i = 0; i < HOLDERS; i++) holders[i] = i < HEAPS ? heaps[i] : heap_take_or_create();
    for (unsigned count = MID_ROUND_FROM - 1; count <= MID_ROUND_FROM; count++) {
        round_of_heaps(false);
        round_of_heaps(false);
        assert_false(round_of_heaps(false));
        hold(holders, count);
        assert_int_equal(round_of_heaps(false), count == MID_ROUND_FROM);
        assert_int_equal(reclaimer_take_request(), count == MID_ROUND_FROM);
        assert_false(round_of_heaps(false)); /* it gives their pages back */
        assert_false(reclaimer_take_request());
        for (unsigned i = 0; i < count; i++) {
            midend_free(NULL, objects[i]);
            midend_drain(holders[i / MID_CACHES]->mid_caches);
        }
    }
    for (unsigned i = HEAPS; i < HOLDERS; i++) heap_abandon(holders[i]);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_rounds_give_a_sleeping_threads_pool_back),
        cmocka_unit_test(slabs_side_by_side_go_back_together),
        cmocka_unit_test(refused_pages_stay),
        cmocka_unit_test(pools_in_use_are_told_of),
        cmocka_unit_test(untouched_slabs_come_together),
        cmocka_unit_test(mapped_slabs_come_together),
        cmocka_unit_test(a_round_leaves_a_kept_slab_to_its_owner),
        cmocka_unit_test(an_owner_comes_while_a_round_gives),
        cmocka_unit_test(a_childs_round_ends_what_its_parent_began),
        cmocka_unit_test(an_owner_finds_its_object_in_a_taken_slab),
        cmocka_unit_test(the_last_thread_leaves_nothing_to_a_round),
        cmocka_unit_test(work_is_counted_after_it_was_left),
        cmocka_unit_test(many_held_slabs_ask_for_the_next_round),
    };
    CHECK(allocator_start());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
