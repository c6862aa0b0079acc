/* range_cache_test.c - freed ranges of large objects that their threads cache: reuse, limits, rounds, statistics. */
#include "heap_players.h"

#include <pthread.h>

#include "backend/backend.h"
#include "config/policy.h"
#include "frontend/heap_statistics.h"

enum { SIZE = 6 * GRANULE_SIZE + BACKEND_MIN };

static size_t cached_bytes(unsigned heap) {
    return range_cache_granules(&heaps[heap]->range_cache) << JW_GRANULE_SHIFT;
}

static void the_next_object_of_the_class_is_the_last_freed_one(void **state) {
    (void)state;
    start();
    char *one = allocate_as(0, SIZE), *other = allocate_as(0, 2 * SIZE);
    size_t size = object_size(one), mapped = free_granules(MAPPED);
    memset(one, 0xa5, size);
    free_as(0, one);
    free_as(1, other); /* that heap caches the other one */
    assert_int_equal(cached_bytes(0), size);
    assert_int_equal(free_granules(MAPPED), mapped);
    assert_ptr_equal(allocate_as(1, 2 * SIZE - 1), other);
    assert_ptr_equal(allocate_as(0, SIZE - 1), one);
    assert_int_equal(cached_bytes(0) + cached_bytes(1), 0);
    assert_int_equal(object_size(one), size);
    /* Where there is free memory besides, calloc still takes the cached range, and clears it. A request with an
     * alignment of a granule takes it, too: each range has that alignment. */
    free_as(1, allocate_as(1, SIZE));
    range_cache_drain(&heaps[1]->range_cache, true);
    free_as(0, one);
    assert_ptr_equal(allocate_zeroed(SIZE), one);
    for (size_t i = 0; i < size; i++) assert_int_equal(one[i], 0);
    free_as(0, one);
    assert_ptr_equal(allocate_aligned(GRANULE_SIZE, SIZE), one);
    free_as(0, one);
    free_as(1, other);
    finish();
}

/* Sizes below BACKEND_MIN for which the midend has no class are large, too. */
static void sizes_above_the_mid_classes_are_cached(void **state) {
    (void)state;
    start();
    char *one = allocate_as(0, BACKEND_MIN - 1), *other = allocate_as(1, SIZE);
    size_t size = object_size(one);
    free_as(1, other);
    range_cache_drain(&heaps[1]->range_cache, true); /* now there is free memory besides */
    free_as(0, one);
    assert_int_equal(cached_bytes(0), size);
    assert_true(free_granules(MAPPED) > 0);
    assert_ptr_equal(allocate_as(0, BACKEND_MIN - 1), one);
    assert_int_equal(cached_bytes(0), 0);
    free_as(0, one);
    finish();
}

/* An object that realloc has made smaller or larger, and aligned ones. */
static void an_object_is_freed_with_the_size_that_it_has(void **state) {
    (void)state;
    start();
    char *one = allocate_as(0, 4 * SIZE);
    size_t before = object_size(one);
    one = reallocate(one, 2 * SIZE);
    size_t after = object_size(one);
    assert_true(after < before);
    free_as(0, one);
    assert_int_equal(cached_bytes(0), after);
    one = allocate_as(0, 2 * SIZE);
    one = reallocate(one, 4 * SIZE);
    after = object_size(one);
    size_t others = cached_bytes(0);
    free_as(0, one);
    assert_int_equal(cached_bytes(0), others + after);
    one = allocate_aligned(8 * GRANULE_SIZE, SIZE);
    assert_int_equal((uintptr_t)one % (8 * GRANULE_SIZE), 0);
    memset(one, 1, object_size(one));
    free_as(0, one);
    finish();
}

/* How many bytes heap 1 caches at most of eight freed objects. A cache without room looks at its share now and then. */
static size_t cached_of_eight(void) {
    void *objects[8];
    size_t most = 0;
    for (unsigned round = 0; round < RANGE_CACHE_PERIOD; round++) {
        for (unsigned i = 0; i < 8; i++) objects[i] = allocate_as(1, SIZE);
        for (unsigned i = 0; i < 8; i++) free_as(1, objects[i]);
        if (cached_bytes(1) > most) most = cached_bytes(1);
    }
    range_cache_drain(&heaps[1]->range_cache, true);
    return most;
}

/* How a thread's first request for a large object is made: malloc, calloc, or with an alignment. */
static void *allocate_large_first(void *by) {
    void *object = *(int *)by == 0   ? allocate(SIZE)
                   : *(int *)by == 1 ? allocate_zeroed(SIZE)
                                     : allocate_aligned(GRANULE_SIZE, SIZE);
    struct heap *heap = thread_heap();
    assert_true(heap != &no_heap);
    free_object(object);
    assert_true(range_cache_granules(&heap->range_cache) > 0);
    return NULL;
}

static void each_first_request_gives_the_thread_a_range_cache(void **state) {
    (void)state;
    start();
    for (int by = 0; by < 3; by++) {
        pthread_t thread;
        pthread_create(&thread, NULL, allocate_large_first, &by);
        pthread_join(thread, NULL);
    }
    finish();
}

static pthread_barrier_t has_cache, may_end;

static void *with_cache(void *heap) {
    heap_enter(heap);
    pthread_barrier_wait(&has_cache);
    pthread_barrier_wait(&may_end);
    heap_enter(&no_heap);
    return NULL;
}

static void threads_share_what_may_wait(void **state) {
    (void)state;
    pthread_t other;
    start();
    options.cache_min = 4 * SIZE;
    options.cache_percent = 0;
    size_t alone = cached_of_eight();
    assert_true(alone > 2 * SIZE && alone <= 4 * SIZE);
    pthread_barrier_init(&has_cache, NULL, 2);
    pthread_barrier_init(&may_end, NULL, 2);
    pthread_create(&other, NULL, with_cache, heaps[2]);
    pthread_barrier_wait(&has_cache);
    size_t shared = cached_of_eight();
    /* together they ask for a round as soon as one thread alone */
    options.cache_min = 64 * SIZE;
    options.reclaim_start = 8 * SIZE;
    void *objects[5];
    for (unsigned i = 0; i < 5; i++) objects[i] = allocate_as(1, SIZE);
    reclaimer_take_request();
    size_t asks = thrift_counters.asks;
    for (unsigned i = 0; i < 3; i++) free_as(1, objects[i]);
    assert_int_equal(thrift_counters.asks, asks);
    for (unsigned i = 3; i < 5; i++) free_as(1, objects[i]);
    assert_true(thrift_counters.asks > asks);
    options.reclaim_start = default_options.reclaim_start;
    pthread_barrier_wait(&may_end);
    pthread_join(other, NULL);
    assert_true(shared > 0 && shared <= 2 * SIZE);
    finish();
}

void __real_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);

static char *in_turn; /* an object that its thread uses between two rounds, NULL: none */
static unsigned waits;

/* What threads do between two rounds. */
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    waits += milliseconds >= options.reclaim_interval; /* not a wait for the next thread */
    if (cached_bytes(1) + cached_bytes(2) > 0) CHECK(milliseconds <= options.reclaim_interval);
    if (in_turn) {
        size_t size = object_size(in_turn = allocate_as(2, 2 * SIZE));
        free_as(2, in_turn);
        CHECK(cached_bytes(2) == size);
        if (waits == 1) CHECK(cached_bytes(1) >= SIZE);
        if (waits == 2) CHECK(cached_bytes(1) == 0);
        if (waits == 6) in_turn = NULL;
    }
    __real_platform_futex_wait(word, expected, milliseconds);
}

static void two_rounds_give_back_what_a_sleeping_thread_has(void **state) {
    (void)state;
    start();
    char *keeps = allocate_as(0, SIZE), *object = allocate_as(1, SIZE), *used = allocate_as(2, 2 * SIZE);
    memset(object, 1, SIZE);
    free_as(1, object);
    free_as(2, used);
    size_t given_back = atomic_load(&thrift_counters.given_back);
    assert_true(cached_bytes(1) >= SIZE);
    in_turn = used;
    void (*thread)(void) = sim_take_thread();
    assert_non_null(thread);
    thread();
    assert_true(waits > 6);
    assert_int_equal(cached_bytes(1) + cached_bytes(2), 0);
    assert_true(atomic_load(&thrift_counters.given_back) >= given_back + 3 * SIZE);
    free_as(0, keeps);
    finish();
}

static void cached_ranges_count_as_free(void **state) {
    (void)state;
    struct backend_statistics statistics;
    start();
    void *object = allocate_as(1, SIZE);
    size_t size = object_size(object);
    backend_statistics(&statistics);
    uint64_t in_use = statistics.in_use, cached = statistics.cached_mapped;
    free_as(1, object);
    backend_statistics(&statistics);
    heap_subtract_cached_ranges(&statistics);
    assert_int_equal(statistics.in_use, in_use - size);
    assert_int_equal(statistics.cached_mapped, cached + size);
    finish();
}

static void *end_with_cached_ranges(void *argument) {
    (void)argument;
    jw_free(jw_malloc(SIZE));
    struct heap *mine = thread_heap();
    CHECK(mine != &no_heap && range_cache_granules(&mine->range_cache) > 0);
    sim_thread_exit();
    CHECK(range_cache_granules(&mine->range_cache) == 0);
    jw_free(jw_malloc(SIZE));
    CHECK(range_cache_granules(&mine->range_cache) == 0 && range_cache_granules(&no_heap.range_cache) == 0);
    return NULL;
}

static void an_ended_thread_has_no_cached_range(void **state) {
    (void)state;
    pthread_t thread;
    start();
    CHECK(pthread_create(&thread, NULL, end_with_cached_ranges, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    finish();
}

static void a_request_without_memory_takes_what_others_cache(void **state) {
    (void)state;
    start();
    void *objects[ROOT_SIZE / SIZE];
    unsigned count = 0;
    size_t roots = 1;
    while (root_count() <= roots && count < ROOT_SIZE / SIZE) objects[count++] = allocate_as(1, SIZE);
    while (count > 0) free_as(1, objects[--count]);
    assert_true(cached_bytes(1) > 0);
    sim_fail_after(0);
    void *whole = allocate_as(0, ROOT_SIZE - GRANULE_SIZE * 8);
    sim_fail_after(SIM_NEVER);
    assert_int_equal(cached_bytes(1), 0);
    free_as(0, whole);
    finish();
}

/* A look sums what is in use. */
static void a_cache_without_room_looks_at_its_share_now_and_then(void **state) {
    (void)state;
    unsigned refused = 0;
    start();
    size_t before = options.cache_min, percent = options.cache_percent;
    options.cache_min = options.cache_percent = 0;
    heaps[0]->range_cache.room = heaps[0]->range_cache.most = 0; /* as a new heap's */
    heaps[0]->range_cache.pushes = 0;
    free_as(0, allocate_as(0, SIZE)); /* looks: there is no room */
    assert_int_equal(cached_bytes(0), 0);
    options.cache_min = before;
    options.cache_percent = percent;
    for (; refused <= RANGE_CACHE_PERIOD && cached_bytes(0) == 0; refused++) free_as(0, allocate_as(0, SIZE));
    assert_int_equal(refused, RANGE_CACHE_PERIOD);
    finish();
}

/* Where our thread does not run. A program that frees large objects only makes no other look at the clock. */
static void frees_of_large_objects_run_the_rounds_that_are_asked_for(void **state) {
    (void)state;
    start();
    options.reclaim_thread = THREAD_FALSE;
    reclaimer_forget(); /* a thread that an earlier test has started */
    for (unsigned rounds = 0; rounds < 3; rounds++) {
        size_t before = thrift_counters.rounds;
        sim_advance((uint32_t)options.reclaim_interval);
        thrift_wake();
        for (unsigned frees = 0; frees < RANGE_CACHE_PERIOD; frees++) free_as(0, allocate_as(0, SIZE));
        assert_int_equal(thrift_counters.rounds, before + 1);
        sim_advance((uint32_t)options.reclaim_interval);
        thrift_wake();
        free_as(0, allocate_as(0, 5 << 20)); /* a mapping that waits */
        assert_int_equal(thrift_counters.rounds, before + 2);
    }
    finish();
    reclaimer_forget();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_object_of_the_class_is_the_last_freed_one),
        cmocka_unit_test(sizes_above_the_mid_classes_are_cached),
        cmocka_unit_test(a_cache_without_room_looks_at_its_share_now_and_then),
        cmocka_unit_test(an_object_is_freed_with_the_size_that_it_has),
        cmocka_unit_test(threads_share_what_may_wait),
        cmocka_unit_test(two_rounds_give_back_what_a_sleeping_thread_has),
        cmocka_unit_test(cached_ranges_count_as_free),
        cmocka_unit_test(an_ended_thread_has_no_cached_range),
        cmocka_unit_test(a_request_without_memory_takes_what_others_cache),
        cmocka_unit_test(frees_of_large_objects_run_the_rounds_that_are_asked_for),
        /* the last one: its threads' ends start the reclamation thread */
        cmocka_unit_test(each_first_request_gives_the_thread_a_range_cache),
    };
    CHECK(allocator_start());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
