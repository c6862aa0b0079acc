/* heap_keys_test.c - keys of heaps, and the secrets of a fork's children: no two processes share them, and the kernel
 * is asked for randomness as seldom as can be (frontend/heap_key.h). Heaps, by their numbers. */
#include "frontend/heap_key.h"
#include "frontend/heap_table.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/limits.h"
#include "backend/reserve.h"
#include "base/align.h"
#include "core/allocator.h"
#include "frontend/disable.h"
#include "frontend/heap.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/thread_heap.h"
#include "midend/mid_slab.h"
#include "midend/midend.h"

#define LOCK_BITS 0xc0000000u /* of a list (backend/nest.c): a thread's, and one around fork */

uint64_t __wrap_platform_random(void);
void __wrap_platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
void *__wrap_platform_forgotten_by_fork(size_t size);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);

static struct {
    uint64_t key[2], forks;
} seeds; /* what the kernel wipes in a child */
static bool has_seeds;
static unsigned draws;

uint64_t __wrap_platform_random(void) {
    static uint64_t state;
    draws++;
    return random_next(&state);
}

void *__wrap_platform_forgotten_by_fork(size_t size) {
    return has_seeds && size == sizeof seeds ? &seeds : NULL;
}

/* No thread is there that would wake this one, unless a test acts for it. */
static void (*at_wait)(void);
void __wrap_platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds) {
    (void)word, (void)expected, (void)milliseconds;
    CHECK(at_wait);
    at_wait();
}

static void start(bool with_seeds) {
    memset(&seeds, 0, sizeof seeds);
    has_seeds = with_seeds;
    draws = 0;
    heap_keys_start();
    assert_int_equal(draws, 3); /* the frontend's key, and two words of the secret */
}

enum { HEAPS_MOST = 500, SIBLINGS = 4 };

static void heaps_and_purposes_have_their_own(void **state) {
    (void)state;
    static uint64_t keys[HEAPS_MOST];
    start(true);
    for (uint32_t number = 1; number < HEAPS_MOST; number++) {
        keys[number] = heap_key(number);
        assert_true(keys[number] == heap_key(number));
        assert_true(heap_derived(number, FOR_KEY) != heap_derived(number, FOR_SCATTER));
        for (uint32_t other = 1; other < number; other++) assert_true(keys[other] != keys[number]);
    }
    start(true);
    for (uint32_t number = 1; number < HEAPS_MOST; number++) assert_true(heap_key(number) != keys[number]);
}

/* A link that is read tells the other half of no other heap's key. Where addresses have 32 bits, slabs have no room for
 * that half: it is the same in all keys, and so is the frontend's. */
static void both_halves_of_a_key_are_the_heaps_own(void **state) {
    (void)state;
    unsigned same = 0;
    start(true);
    uint32_t first = (uint32_t)(heap_key(1) >> 32);
    for (uint32_t number = 2; number < HEAPS_MOST; number++) same += heap_key(number) >> 32 == first;
    if (sizeof(uintptr_t) < sizeof(uint64_t)) assert_true(same == HEAPS_MOST - 2 && frontend_key >> 32 == first);
    else assert_true(same < 2); /* 16 bits of it are random */
}

/* Draws of this process for a fork, from the first handler to the last one in the parent. */
static unsigned draws_of_a_fork(void) {
    uint64_t before = heap_derived(1, FOR_KEY);
    draws = 0;
    heap_keys_before_fork();
    heap_keys_after_fork(false);
    assert_true(heap_derived(1, FOR_KEY) == before);
    return draws;
}

static void the_kernel_is_asked_where_no_seed_is_left(void **state) {
    (void)state;
    start(false);
    assert_int_equal(draws_of_a_fork(), 2);
    start(true);
    assert_int_equal(seeds.forks, 1);
    assert_true(seeds.key[0] != seeds.key[1] && seeds.key[0] != 0 && seeds.key[1] != 0);
    for (unsigned fork = 1; fork < 10; fork++) {
        assert_int_equal(draws_of_a_fork(), 0);
        assert_int_equal(seeds.forks, 1 + fork);
    }
    memset(&seeds, 0, sizeof seeds); /* a child that no handler of ours has seen */
    assert_int_equal(draws_of_a_fork(), 2);
    assert_int_equal(seeds.forks, 0);
    start(true); /* no word of the last secret is left to be used again */
    heap_keys_before_fork();
    heap_keys_after_fork(true);
    draws = 0;
    heap_keys_after_fork(true); /* a handler has forked between the two steps: the child draws its own */
    assert_int_equal(draws, 2);
}

static int results[2];

/* Forks `siblings` times, and each child as often less one; each process tells one derived number. */
static void fork_all(unsigned siblings) {
    for (unsigned i = 0; i < siblings; i++) {
        heap_keys_before_fork();
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            memset(&seeds, 0, sizeof seeds);
            heap_keys_after_fork(true);
            CHECK(draws == 0);
            uint64_t told = heap_derived(1, FOR_KEY);
            CHECK(write(results[1], &told, sizeof told) == sizeof told);
            if (siblings > 2) fork_all(siblings - 1);
            _exit(0);
        }
        heap_keys_after_fork(false);
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
}

static void no_two_processes_share_a_secret(void **state) {
    (void)state;
    uint64_t told[100] = {0};
    start(true);
    draws = 0;
    assert_int_equal(pipe(results), 0);
    fork_all(SIBLINGS);
    told[0] = heap_derived(1, FOR_KEY);
    close(results[1]);
    unsigned count = 1;
    while (read(results[0], &told[count], sizeof *told) == sizeof *told) count++;
    close(results[0]);
    assert_int_equal(count, 1 + SIBLINGS + SIBLINGS * (SIBLINGS - 1) + SIBLINGS * (SIBLINGS - 1) * (SIBLINGS - 2));
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < i; j++) assert_true(told[i] != told[j]);
    assert_int_equal(draws, 0);
}

static void (*before_fork)(void), (*after_fork[2])(void);

void __wrap_platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    before_fork = prepare;
    after_fork[false] = parent;
    after_fork[true] = child;
}

static unsigned lists_locked(const struct nest *nest) {
    unsigned locked = 0;
    for (unsigned class = 0; class < RANGE_CLASSES; class ++) locked += (nest->classes[class].list & LOCK_BITS) != 0;
    return locked;
}

static bool a_list_is_locked(void) {
    unsigned locked = lists_locked(&mid_nest);
    for (unsigned nest = 0; nest < NESTS; nest++) locked += lists_locked(&ownership.nests[nest]);
    return locked > 0;
}

/* The child's secret is drawn by the parent, and no list changes during the fork. */
static void seem_to_fork(bool child) {
    draws = 0;
    before_fork();
    CHECK(draws == (has_seeds ? 0 : 2));
    CHECK(lists_locked(&mid_nest) == RANGE_CLASSES);
    for (unsigned nest = 0; nest < nests_in_use(); nest++) CHECK(lists_locked(&ownership.nests[nest]) == RANGE_CLASSES);
    draws = 0;
    after_fork[child]();
    CHECK(draws == 0 && !a_list_is_locked());
}

/* The parent goes on as before. The child has one thread, and no heap yet. */
static void check_both_sides(void) {
    start_backend();
    CHECK(allocator_start());
    options.reclaim_thread = THREAD_TRUE;
    char *object = memset(jw_malloc(100), 1, 100);
    struct heap *heap = thread_heap();
    thrift_wake();
    uint32_t forks = root_forks();
    CHECK(heap != &no_heap && reclaimer_state() == RUNNING);
    seem_to_fork(false);
    CHECK(thread_heap() == heap && reclaimer_state() == RUNNING && root_forks() == forks);
    draws = 0;
    heap_keys_after_fork(true); /* the parent has not kept its child's secret: a new one is drawn */
    CHECK(draws == 2);
    disable_others(); /* to the child this thread is another one, which is gone */
    seem_to_fork(true);
    CHECK(thread_heap() == &no_heap && heap->thread == 0 && root_forks() != forks);
    CHECK(reclaimer_state() == NO_THREAD);
    char *other = memset(jw_malloc(100), 2, 100);
    CHECK(other != object && *object == 1 && thread_heap() != heap && thread_heap() != &no_heap);
    CHECK(thread_heap()->key != heap->key);
    jw_free(object);
    jw_free(other);
}

static void *lock_all(void *unused) {
    backend_before_fork();
    midend_before_fork();
    return unused;
}

/* Another thread was about to fork. It is not in the child, and cannot unlock there what it had locked. */
static void unlock_for_another(void) {
    pthread_t other;
    start_backend();
    CHECK(allocator_start());
    CHECK(pthread_create(&other, NULL, lock_all, NULL) == 0 && pthread_join(other, NULL) == 0);
    before_fork();
    CHECK(lists_locked(&mid_nest) == RANGE_CLASSES && a_list_is_locked());
    after_fork[true]();
    CHECK(!a_list_is_locked());
}

static void a_child_unlocks_all(void **state) {
    (void)state;
    run_in_child(unlock_for_another);
}

static void end_with_zeros(void) {
    atomic_store(&options.init, INIT_ZERO);
    disable_end();
}

/* The disabler chooses the contents of new objects while a thread waits to go on. */
static void wait_for_zeros(void) {
    enum { SIZE = 100 };
    start_backend();
    CHECK(allocator_start());
    jw_free(jw_malloc(SIZE));
    struct heap *other = heap_take_or_create();
    CHECK(other);
    disable_others();
    heap_enter(other);
    at_wait = end_with_zeros;
    char *object = jw_malloc(SIZE);
    CHECK(object && options.init == INIT_ZERO);
    for (unsigned times = 0; times < 3; times++) {
        jw_free(memset(object, 1, SIZE));
        CHECK((object = jw_malloc(SIZE)) != NULL);
        for (unsigned i = 0; i < SIZE; i++) CHECK(object[i] == 0);
    }
}

static void a_thread_that_waits_heeds_what_is_chosen(void **state) {
    (void)state;
    run_in_child(wait_for_zeros);
}

/* A thread that the program has made is the only one in its child. Its end there is no other thread's: the next thread
 * that the child makes has the reclamation thread beside it. */
static void check_counts(bool before, bool fresh, bool after) {
    start_backend();
    CHECK(allocator_start());
    options.reclaim_thread = THREAD_AUTO;
    options.fresh_after_fork = fresh;
    reclaimer_before_thread_create();
    heap_thread_starts();
    if (before) jw_free(jw_malloc(100));
    thread_heap()->thread = 0; /* of another process: the child notes its own number */
    seem_to_fork(true);
    CHECK(thread_heap() == &no_heap || thread_heap()->thread == platform_thread_id());
    if (after) jw_free(jw_malloc(100));
    CHECK((thread_heap() != &no_heap) == (after || (before && !fresh)));
    sim_thread_exit();
    CHECK(thread_heap() == &no_heap);
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    CHECK(reclaimer_state() == RUNNING && sim_take_thread() != NULL);
}

static void never_has_heap(void) {
    check_counts(false, true, false);
}

static void has_heap_in_child(void) {
    check_counts(false, true, true);
}

static void has_other_heap_in_child(void) {
    check_counts(true, true, true);
}

static void leaves_its_heap(void) {
    check_counts(true, true, false);
}

static void keeps_its_heap(void) {
    check_counts(true, false, true);
}

static void a_child_begins_anew(void **state) {
    (void)state;
    run_in_child(check_both_sides);
}

static void the_only_thread_of_a_child_is_not_counted(void **state) {
    (void)state;
    run_in_child(never_has_heap);
    run_in_child(has_heap_in_child);
    run_in_child(has_other_heap_in_child);
    run_in_child(leaves_its_heap);
    run_in_child(keeps_its_heap);
}

void __wrap_platform_huge_pages(void *address, size_t size, bool wanted);

static unsigned wishes, huge; /* what is told about huge pages; huge: that they are wanted */

void __wrap_platform_huge_pages(void *address, size_t size, bool wanted) {
    (void)address, (void)size;
    wishes++;
    huge += wanted;
}

/* One mapping for a chunk of heaps, without huge pages: most are never used. A refused one changes nothing. */
static void heaps_come_in_chunks(void **state) {
    (void)state;
    wishes = huge = 0;
    start_backend();
    assert_true(wishes == 2 && huge == 0); /* the tables: most of their pages are never written */
    size_t bytes = align_up(sizeof(struct heap) * JW_HEAPS_PER_CHUNK, platform_page_size());
    wishes = huge = 0;
    for (unsigned chunk = 0; chunk < 3; chunk++) {
        uint32_t count = heap_count();
        size_t reserved = sim_reserved(), committed = limits_committed();
        sim_fail_after(0);
        if (!heap_by_number(count + 1)) assert_null(heap_create());
        assert_int_equal(heap_count(), count);
        sim_fail_after(SIM_NEVER);
        do {
            struct heap *heap = heap_create();
            assert_non_null(heap);
            assert_int_equal(heap->number, ++count);
            assert_ptr_equal(heap_by_number(count), heap);
            assert_int_equal(heap_count(), count);
            assert_true(bytes_are_zero(heap->local, sizeof heap->local));
            if (!chunk && count == 1) reserved += bytes;
            committed += sizeof *heap;
            assert_int_equal(limits_committed(), committed);
            assert_int_equal(sim_reserved(), reserved + (count / JW_HEAPS_PER_CHUNK > chunk ? bytes : 0));
        } while (count % JW_HEAPS_PER_CHUNK != 0);
    }
    assert_true(wishes >= 2 && huge == 0);
    assert_null(heap_by_number(JW_HEAPS_PER_CHUNK * 10));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heaps_and_purposes_have_their_own),
        cmocka_unit_test(both_halves_of_a_key_are_the_heaps_own),
        cmocka_unit_test(the_kernel_is_asked_where_no_seed_is_left),
        cmocka_unit_test(no_two_processes_share_a_secret),
        cmocka_unit_test(a_child_begins_anew),
        cmocka_unit_test(a_child_unlocks_all),
        cmocka_unit_test(a_thread_that_waits_heeds_what_is_chosen),
        cmocka_unit_test(the_only_thread_of_a_child_is_not_counted),
        cmocka_unit_test(heaps_come_in_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
