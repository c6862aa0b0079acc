/* reserve_test.c - the reserve for real-time threads (backend/reserve.h): what a mark leaves where it is refused, what
 * the thread keeps of before, and where the reserve goes behind the last mark. */
#include "heap_players.h"

#include <errno.h>

#include "backend/reserve.h"
#include "core/realtime.h"

enum { SLABS = 40, PER_SLAB = GRANULE_SIZE / FRONTEND_MAX, OF_BACKEND = BACKEND_MIN + GRANULE_SIZE };
static void *many[SLABS * PER_SLAB];

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
        cmocka_unit_test(a_refused_reserve_marks_no_thread),
        cmocka_unit_test(a_marked_thread_keeps_no_range_of_before),
        cmocka_unit_test(a_marked_thread_has_used_each_size),
        cmocka_unit_test(the_last_mark_gives_all_back),
        cmocka_unit_test(a_child_of_a_fork_is_not_marked),
    };
    CHECK(allocator_start());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
