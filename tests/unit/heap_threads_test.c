/* heap_threads_test.c - heaps with threads: races for a full slab, many threads at once, threads that come and go. */
#include "unit.h"

#include <pthread.h>

#include "backend/reclaimer.h"
#include "core/allocator.h"
#include "core/iterate.h"
#include "core/purge.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/heap_table.h"
#include "frontend/thread_heap.h"
#include "heap_walk.h"

enum { MANY = 742, GENERATIONS = 2, SHARED = 512, RACES = 3000, CHURNERS = 8, LIVES = 40 };

static _Atomic(uintptr_t) shared[SHARED]; /* objects that belong to the thread that exchanges them out */
static pthread_barrier_t together;

static void *fresh(uint64_t *randomness) {
    size_t size = 16 + (size_t)random_below(randomness, random_below(randomness, 4) ? 100 : FRONTEND_MAX - 16);
    void *object = jw_malloc(size);
    CHECK(object);
    pattern_fill(object, 16, (uintptr_t)object);
    return object;
}

static void check_and_free(void *object) {
    CHECK(pattern_holds(object, 16, (uintptr_t)object));
    jw_free(object);
}

static void trade(uint64_t *randomness, unsigned times) {
    while (times-- > 0) {
        void *old = (void *)atomic_exchange(&shared[random_below(randomness, SHARED)], (uintptr_t)fresh(randomness));
        if (old) check_and_free(old);
    }
}

/* No thread runs rounds from now on, nor does one that began before: a round takes an idle pool, also one that is being
 * walked, and has abandoned heaps in hand for a moment. */
static void stop_rounds(void) {
    reclaimer_pause();
    options.reclaim_thread = THREAD_FALSE;
    options.reclaim_start = most_options.reclaim_start;
    options.reclaim_interval = most_options.reclaim_interval; /* the end of a thread asks for a round, too */
}

static void restart_rounds(void) {
    options.reclaim_thread = THREAD_TRUE;
    options.reclaim_start = default_options.reclaim_start;
    options.reclaim_interval = 10;
    reclaimer_forget();
}

/* Every object is free and every other thread gone, the reclamation thread as well. */
static void finish(void) {
    for (unsigned i = 0; i < SHARED; i++) {
        void *old = (void *)atomic_exchange(&shared[i], 0);
        if (old) check_and_free(old);
    }
    heap_drain_own();
    reclaimer_pause();
    for (unsigned round = 0; round < 2; round++) thrift_purge(); /* one for each stack of abandoned heaps */
    assert_int_equal(root_count(), 0);
    reclaimer_resume();
    for (uint32_t number = 1; number <= heap_count(); number++) {
        assert_int_equal(heap_by_number(number)->in_use_count, 0);
        assert_true(pool_is_empty(&heap_by_number(number)->pool));
    }
}

enum { SMALL = 224, CACHE_ROOM = 304 }; /* none of the first is cached, some of the second may */
static void *contested[1 << JW_GRANULE_SHIFT];
static unsigned capacity, split;

/* Frees the second part of the full slab while its owner frees the first. */
static void *free_second_part(void *argument) {
    (void)argument;
    for (unsigned race = 0; race < RACES; race++) {
        pthread_barrier_wait(&together);
        for (unsigned i = split; i < capacity; i++) jw_free(contested[i]);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void race_with_the_return(size_t size, unsigned states[REOPENING + 1]) {
    pthread_t other;
    pthread_barrier_init(&together, NULL, 2);
    capacity = size_class_capacity(size_class_of(size));
    CHECK(pthread_create(&other, NULL, free_second_part, NULL) == 0);
    stop_rounds();
    for (unsigned race = 0; race < RACES; race++) {
        for (unsigned i = 0; i <= capacity; i++) contested[i] = jw_malloc(size);
        struct slab *full = slab_of(contested[0]);
        CHECK(full->state == FULL && slab_of(contested[capacity - 1]) == full);
        split = race % (capacity + 1);
        pthread_barrier_wait(&together);
        for (unsigned i = 0; i < split; i++) jw_free(contested[i]);
        pthread_barrier_wait(&together);
        states[full->state]++;
        walk_heap(thread.heap);
        jw_free(contested[capacity]);
        heap_collect(thread.heap, COLLECT_ALL);
        walk_heap(thread.heap);
        CHECK(thread.heap->in_use_count == 0);
    }
    pthread_join(other, NULL);
    printf("partial %u, empty %u, full %u, returning %u\n", states[PARTIAL], states[EMPTY], states[FULL],
           states[REOPENING]);
    restart_rounds();
    finish();
}

static void own_frees_race_with_the_return(void **state) {
    (void)state;
    unsigned small[REOPENING + 1] = {0}, cached[REOPENING + 1] = {0};
    race_with_the_return(SMALL, small);
    assert_true(small[PARTIAL] > 0 && small[EMPTY] + small[REOPENING] > 0);
    race_with_the_return(CACHE_ROOM, cached);
    if (size_classes[size_class_of(CACHE_ROOM)].cache_room > 0) assert_true(cached[FULL] > 0);
}

static void *be_one_of_many(void *argument) {
    uint64_t randomness = (uintptr_t)argument;
    trade(&randomness, 20);
    pthread_barrier_wait(&together); /* all have a heap now */
    trade(&randomness, 20);
    pthread_barrier_wait(&together); /* no thread frees any more */
    walk_heap(thread.heap);
    pthread_barrier_wait(&together); /* nor ends: its round might take a pool that is being walked */
    return NULL;
}

static void many_threads_at_once(void **state) {
    (void)state;
    static pthread_t threads[MANY];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&together, NULL, MANY);
    stop_rounds();
    for (unsigned generation = 0; generation < GENERATIONS; generation++) {
        for (uintptr_t i = 0; i < MANY; i++) CHECK(pthread_create(&threads[i], &small, be_one_of_many, (void *)i) == 0);
        for (unsigned i = 0; i < MANY; i++) pthread_join(threads[i], NULL);
        assert_int_equal(heap_count(), MANY); /* the second generation takes the heaps of the first */
        assert_int_equal(heap_abandoned_count(), MANY);
    }
    restart_rounds();
    finish();
}

static void *live_shortly(void *argument) {
    uint64_t randomness = (uintptr_t)argument;
    trade(&randomness, 300);
    return NULL;
}

/* Starts a thread again and again; what each leaves behind lives on in its heap, which others take over. */
static void *keep_starting(void *argument) {
    for (uintptr_t life = 0; life < LIVES; life++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, live_shortly, (void *)((uintptr_t)argument * LIVES + life)) == 0);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void threads_come_and_go(void **state) {
    (void)state;
    uint32_t before = heap_count();
    pthread_t threads[CHURNERS];
    for (uintptr_t i = 0; i < CHURNERS; i++) CHECK(pthread_create(&threads[i], NULL, keep_starting, (void *)i) == 0);
    for (unsigned i = 0; i < CHURNERS; i++) pthread_join(threads[i], NULL);
    assert_true(heap_count() <= before + 2 * CHURNERS + 8);
    finish();
}

static _Atomic(bool) over;

static void *keep_trading(void *argument) {
    uint64_t randomness = (uintptr_t)argument;
    trade(&randomness, 20000);
    return NULL;
}

static void *keep_purging(void *argument) {
    uint64_t randomness = (uintptr_t)argument;
    while (!over) purge_for((enum purge_level)random_below(&randomness, PURGE_LEVELS), random_below(&randomness, 300));
    return NULL;
}

static void see(uintptr_t object, size_t size, void *count) {
    CHECK(object && size > 0);
    ++*(unsigned *)count;
}

/* Sees at least the object that is kept: also where the other threads have ended before this one runs. */
static void *keep_looking(void *count) {
    bool told = false;
    while (!over || !told) told |= iterate_objects(0, SIZE_MAX, see, count);
    return NULL;
}

/* Neither disturbs the threads that work, nor needs them to stop. */
static void purges_and_iterations_beside_threads(void **state) {
    (void)state;
    pthread_t traders[3], purger, looker;
    unsigned seen = 0, left = 0;
    void *kept = allocate(1);
    CHECK(pthread_create(&purger, NULL, keep_purging, (void *)1) == 0);
    CHECK(pthread_create(&looker, NULL, keep_looking, &seen) == 0);
    for (uintptr_t i = 0; i < 3; i++) CHECK(pthread_create(&traders[i], NULL, keep_trading, (void *)(i + 2)) == 0);
    for (unsigned i = 0; i < 3; i++) pthread_join(traders[i], NULL);
    over = true;
    pthread_join(purger, NULL);
    pthread_join(looker, NULL);
    free_object(kept);
    finish();
    assert_true(iterate_objects(0, SIZE_MAX, see, &left) && left == 0 && seen > 0);
}

static void *only_start(void *unused) {
    heap_thread_starts();
    return unused;
}

static void *allocate_after_the_start(void *unused) {
    heap_thread_starts();
    jw_free(jw_malloc(64));
    return unused;
}

/* Another library's pthread_create, below ours, may start the thread by a function that allocates before ours is told
 * of the thread. */
static void *start_after_an_allocation(void *unused) {
    jw_free(jw_malloc(64));
    heap_thread_starts();
    return unused;
}

static void a_thread_counts_once(void **state) {
    (void)state;
    void *(*const bodies[])(void *) = {only_start, allocate_after_the_start, start_after_an_allocation};
    jw_free(jw_malloc(64)); /* the allocator has started, and this thread is not one of the two */
    for (unsigned body = 0; body < 3; body++) {
        pthread_t thread;
        reclaimer_forget();
        for (unsigned i = 0; i < 2; i++) reclaimer_before_thread_create();
        CHECK(pthread_create(&thread, NULL, bodies[body], NULL) == 0);
        pthread_join(thread, NULL);
        assert_int_equal(reclaimer->seen, 1);
        assert_int_equal(reclaimer->ended, 1);
    }
    reclaimer_forget();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_at_once), cmocka_unit_test(own_frees_race_with_the_return),
        cmocka_unit_test(threads_come_and_go),  cmocka_unit_test(purges_and_iterations_beside_threads),
        cmocka_unit_test(a_thread_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
