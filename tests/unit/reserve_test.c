/* reserve_test.c - the reserve for real-time threads (backend/reserve.h): what a mark leaves where it is refused, what
 * the thread keeps of before, and where the reserve goes behind the last mark. */
#include "heap_players.h"

#include <errno.h>
#include <sys/mman.h>

#include "backend/backend.h"
#include "backend/ownership.h"
#include "backend/reserve.h"
#include "config/policy.h"
#include "config/statistics_types.h"
#include "core/realtime.h"

enum { SLABS = 40, PER_SLAB = GRANULE_SIZE / FRONTEND_MAX, OF_BACKEND = BACKEND_MIN + GRANULE_SIZE };
static void *many[SLABS * PER_SLAB];

static unsigned nests_locked(void) {
    unsigned nests = 0;
    for (unsigned nest = 0; nest < NESTS; nest++) {
        unsigned lists = 0;
        for (unsigned class = 0; class < RANGE_CLASSES; class ++)
            lists += (ownership.nests[nest].classes[class].list & 0x40000000u) != 0; /* LOCKED_FOR_FORK */
        assert_true(lists == 0 || lists == RANGE_CLASSES);
        nests += lists > 0;
    }
    return nests;
}

/* A fork locks the lists of the reserve, too, and its Nests count as metadata, once there was a reserve. */
static void its_nests_are_left_alone_at_first(void **state) {
    (void)state;
    struct backend_statistics before, after;
    for (unsigned there = 0; there < 2; there++) {
        start();
        if (there) assert_int_equal(realtime_reserve(1), 0);
        backend_before_fork();
        assert_int_equal(nests_locked(), there ? NESTS : ORDINARY_NESTS);
        backend_after_fork(false);
        assert_int_equal(nests_locked(), 0);
        if (there) assert_int_equal(realtime_reserve(0), 0);
        finish();
        backend_statistics(there ? &after : &before);
    }
    assert_int_equal(after.metadata - before.metadata, (NESTS - ORDINARY_NESTS) * sizeof(struct nest));
}

/* No page of theirs is left to a later fault. */
static void touch_nests(void) {
    enum { PAGES_MOST = 64 };
    unsigned char there[PAGES_MOST];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *from = (char *)align_up((uintptr_t)&ownership.nests[ORDINARY_NESTS], page);
    size_t size = align_down((uintptr_t)&ownership.nests[NESTS] - (uintptr_t)from, page);
    CHECK(size / page < PAGES_MOST && (size == 0 || madvise(from, size, MADV_DONTNEED) == 0));
    reserve_mark(true);
    CHECK(reserve_add(1) && (size == 0 || mincore(from, size, there) == 0));
    for (size_t i = 0; i < size / page; i++) CHECK(there[i] & 1);
}

static void its_nests_have_pages(void **state) {
    (void)state;
    start();
    run_in_child(touch_nests);
    finish();
}

/* The OS has no memory, or none for records: the thread is as before, and no root is lost. */
static void a_refused_reserve_marks_no_thread(void **state) {
    (void)state;
    for (unsigned refused = SIM_RESERVE; refused <= SIM_PROTECT; refused *= SIM_PROTECT / SIM_RESERVE) {
        start();
        void *object = allocate_as(0, 1);
        sim_fail_only(refused);
        sim_fail_after(0);
        assert_int_equal(realtime_reserve(2 * ROOT_SIZE), ENOMEM);
        sim_fail_after(SIM_NEVER);
        sim_fail_only(SIM_ANY);
        assert_false(reserve_is_mine() || reserve_is_used());
        jw_free(object);
        finish();
    }
}

/* What it has cached may have pages that it has never touched, and it caches none from now on. */
static void a_marked_thread_keeps_no_range_of_before(void **state) {
    (void)state;
    start();
    options.pool_min = SLABS;
    for (unsigned i = 0; i < SLABS * PER_SLAB; i++) many[i] = allocate_as(0, FRONTEND_MAX);
    for (unsigned i = 0; i < SLABS * PER_SLAB; i++) free_as(0, many[i]);
    free_as(0, allocate_as(0, OF_BACKEND));
    struct heap *heap = heaps[0];
    unsigned kept = heap->pool.count;
    assert_true(kept >= SLABS / 2 && range_cache_granules(&heap->range_cache) > 0);
    assert_int_equal(realtime_reserve(ROOT_SIZE), 0);
    assert_true(reserve_is_mine() && reserve_is_used());
    assert_true(heap->pool.count < kept / 2 && range_cache_granules(&heap->range_cache) == 0);
    jw_free(jw_malloc(OF_BACKEND));
    assert_int_equal(range_cache_granules(&heap->range_cache), 0);
    assert_int_equal(realtime_reserve(0), 0);
    assert_false(reserve_is_mine() || reserve_is_used());
    finish();
}

void *__real_large_allocate(size_t size, size_t alignment, bool *zeroed);
void *__wrap_large_allocate(size_t size, size_t alignment, bool *zeroed);

static size_t large_sizes; /* their sum: each is a power of two */

void *__wrap_large_allocate(size_t size, size_t alignment, bool *zeroed) {
    large_sizes += size;
    return __real_large_allocate(size, alignment, zeroed);
}

/* Each size is a power of two below that of a root. Of a small one a slab is left. */
static void a_marked_thread_has_used_each_size(void **state) {
    (void)state;
    unsigned classes = 0;
    start();
    large_sizes = 0;
    assert_int_equal(realtime_reserve(2 * ROOT_SIZE), 0);
    assert_int_equal(large_sizes, ROOT_SIZE - 2 * FRONTEND_MAX);
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        bool used = false;
        for (size_t size = 1; size <= FRONTEND_MAX; size *= 2) used |= size_class_of(size) == class;
        assert_int_equal(heaps[0]->current[class] != NULL, used);
        classes += used;
    }
    assert_int_equal(heaps[0]->in_use_count, classes);
    assert_int_equal(realtime_reserve(0), 0);
    finish();
}

/* As many roots as the size needs, beside the one that is there. */
static void a_reserve_has_whole_roots(void **state) {
    (void)state;
    static const struct {
        size_t size, roots;
    } cases[] = {{1, 1}, {ROOT_SIZE - 1, 1}, {ROOT_SIZE, 1}, {ROOT_SIZE + 1, 2}, {3 * ROOT_SIZE, 3}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        start();
        void *object = allocate_as(0, 1);
        size_t before = root_count();
        assert_int_equal(realtime_reserve(cases[i].size), 0);
        assert_int_equal(root_count(), before + cases[i].roots);
        assert_int_equal(realtime_reserve(0), 0);
        jw_free(object);
        finish();
    }
}

wide_bool __real_thrift_admit(size_t granules);
wide_bool __wrap_thrift_admit(size_t granules);
static size_t admitted; /* the granules of the last request */
static bool refuses;

wide_bool __wrap_thrift_admit(size_t granules) {
    admitted = granules;
    return !refuses && __real_thrift_admit(granules);
}

/* A size is admitted with all of its roots, or refused before any root is made; too large a one is not even asked for.
 */
static void a_reserve_keeps_to_the_limits(void **state) {
    (void)state;
    static const struct {
        size_t size, asked;
    } cases[] = {
        {1, ROOT_SIZE},        {ROOT_SIZE, ROOT_SIZE}, {ROOT_SIZE + 1, 2 * ROOT_SIZE}, {RESERVE_MOST, RESERVE_MOST},
        {RESERVE_MOST + 1, 0}, {SIZE_MAX, 0}};
    start();
    void *object = allocate_as(0, 1);
    size_t before = root_count();
    refuses = true;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        admitted = 0;
        assert_int_equal(realtime_reserve(cases[i].size), ENOMEM);
        assert_int_equal(admitted, cases[i].asked >> JW_GRANULE_SHIFT);
        assert_true(root_count() == before && !reserve_is_mine() && !reserve_is_used());
    }
    refuses = false;
    jw_free(object);
    finish();
}

/* In whichever buffer it is then. */
static void the_last_mark_gives_all_back(void **state) {
    (void)state;
    for (unsigned swaps = 0; swaps < 2; swaps++) {
        start();
        assert_int_equal(realtime_reserve(2 * ROOT_SIZE), 0);
        heap_drain_own();
        assert_true(root_count() >= 2);
        for (unsigned i = 0; i < swaps; i++) ownership_swap_buffers();
        assert_int_equal(realtime_reserve(0), 0);
        assert_int_equal(free_granules(MAPPED), 0);
        assert_true(root_count() < 2);
        finish();
    }
}

/* It runs no round, and keeps none from others. */
static void a_marked_thread_leaves_rounds_to_others(void **state) {
    (void)state;
    start();
    assert_int_equal(realtime_reserve(1), 0);
    reclaimer->state = ROUNDS_BY_FREES;
    reclaimer_ask();
    for (unsigned marked = 2; marked-- > 0;) {
        size_t rounds = thrift_counters.rounds;
        sim_advance((uint32_t)options.reclaim_interval);
        thrift_take_turn();
        assert_int_equal(thrift_counters.rounds, rounds + !marked);
        if (marked) assert_int_equal(realtime_reserve(0), 0);
    }
    reclaimer_forget();
    finish();
}

static void a_child_of_a_fork_is_not_marked(void **state) {
    (void)state;
    int status;
    start();
    assert_int_equal(realtime_reserve(ROOT_SIZE), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sim_fork(true);
        _exit(reserve_is_mine() || reserve_is_used());
    }
    assert_true(waitpid(child, &status, 0) == child && status == 0);
    assert_true(reserve_is_mine());
    assert_int_equal(realtime_reserve(0), 0);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_nests_are_left_alone_at_first),
        cmocka_unit_test(its_nests_have_pages),
        cmocka_unit_test(a_refused_reserve_marks_no_thread),
        cmocka_unit_test(a_marked_thread_keeps_no_range_of_before),
        cmocka_unit_test(a_marked_thread_has_used_each_size),
        cmocka_unit_test(a_reserve_has_whole_roots),
        cmocka_unit_test(a_reserve_keeps_to_the_limits),
        cmocka_unit_test(the_last_mark_gives_all_back),
        cmocka_unit_test(a_marked_thread_leaves_rounds_to_others),
        cmocka_unit_test(a_child_of_a_fork_is_not_marked),
    };
    CHECK(allocator_start());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
