/* resize_test.c - which objects stay in their places when their size changes, of each tier, to the byte
 * (core/realloc.h), and what a sized free may accept after that. */
#include "heap_players.h"

#include <errno.h>

#include "backend/huge.h"
#include "backend/large_object.h"
#include "backend/thrift_counters.h"
#include "core/aligned.h"
#include "core/limit.h"
#include "core/object_size.h"
#include "core/realloc.h"
#include "core/sized.h"
#include "midend/midend.h"

/* Resizes a new object. Returns whether it has stayed; *kept: whether a smaller size is noted by that. */
static bool stays(size_t old, size_t size, bool *kept) {
    char *object = allocate_as(0, old), *resized;
    size_t length = size < old ? size : old;
    CHECK(object_size(object) == old);
    pattern_fill(object, length, old + size);
    atomic_store(&shrunk_in_place, false);
    CHECK((resized = reallocate(object, size)));
    bool same = resized == object;
    *kept = atomic_load(&shrunk_in_place);
    CHECK(pattern_holds(resized, length, old + size) && object_size(resized) >= size);
    jw_free(resized);
    return same;
}

/* More than half of the place, or any part of 32 bytes. */
static bool may_stay(size_t old, size_t size) {
    return size <= old && (size > old / 2 || old <= 32);
}

static void small_objects(void **state) {
    (void)state;
    bool kept;
    start();
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        size_t old = size_classes[class].size, least = class > 0 ? size_classes[class - 1].size + 1 : 1;
        for (size_t size = 1; size <= old + 1; size++) {
            assert_int_equal(stays(old, size, &kept), may_stay(old, size));
            assert_int_equal(kept, may_stay(old, size) && size < least);
        }
    }
    finish();
}

static void mid_objects(void **state) {
    (void)state;
    bool kept;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        size_t old = mid_shapes[class].size, least = class > 0 ? mid_shapes[class - 1].size + 1 : FRONTEND_MAX + 1;
        if (old <= FRONTEND_MAX) continue; /* serves alignments only */
        const size_t sizes[] = {1, old / 2 - 1, old / 2, old / 2 + 1, least - 1, least, old - 1, old, old + 1};
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            assert_int_equal(stays(old, sizes[i], &kept), may_stay(old, sizes[i]));
            assert_int_equal(kept, may_stay(old, sizes[i]) && sizes[i] < least);
        }
    }
    finish();
}

/* A large object stays with each size that no smaller tier has, and gives back the rest; with a smaller one if that
 * is more than half of it. */
static void large_objects_that_shrink(void **state) {
    (void)state;
    start();
    for (uint32_t granules = 4; granules <= 64; granules *= 2) {
        size_t old = (size_t)granules * GRANULE_SIZE;
        const size_t sizes[] = {1,           old / 2 - 1, old / 2, old / 2 + 1, old - 1,           old, BACKEND_MIN - 1,
                                BACKEND_MIN, 16384,       16385,   28673,       old - GRANULE_SIZE};
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t size = sizes[i];
            if (size > old) continue;
            char *object = allocate_as(0, old);
            assert_int_equal(large_usable_size(object), old);
            atomic_store(&shrunk_in_place, false);
            char *resized = reallocate(object, size);
            bool same = may_stay(old, size) || size >= BACKEND_MIN;
            assert_int_equal(resized == object, same);
            size_t place = large_good_size(size);
            assert_int_equal(object_size(resized), same ? place : good_size(1, size));
            assert_int_equal(atomic_load(&shrunk_in_place), same && place != good_size(1, size));
            jw_free(resized);
        }
    }
    finish();
}

/* realloc has nothing to do for the sizes that get such a range, down to the smallest large one. */
static void large_objects_that_serve(void **state) {
    (void)state;
    start();
    for (uint32_t granules = 4; granules <= ROOT_GRANULES; granules = weight_round_up(granules + 1)) {
        size_t size = (size_t)granules * GRANULE_SIZE;
        uint32_t smaller = granules - 1;
        while (weight_round_up(smaller) != smaller) smaller--;
        size_t least = granules == 4 ? BACKEND_MIN : (size_t)smaller * GRANULE_SIZE + 1;
        char *object = allocate_as(0, size);
        assert_true(large_serves(object, size) && large_serves(object, least));
        assert_false(large_serves(object, least - 1) || large_serves(object, size + 1));
        assert_false(large_serves(object, 0) || large_serves(object, SIZE_MAX));
        assert_false(large_serves(object + 8, size) || large_serves(object + GRANULE_SIZE, size));
        jw_free(object);
        assert_false(large_serves(object, size));
        if (granules == ROOT_GRANULES) break;
    }
    char *aligned = allocate_aligned(8 * GRANULE_SIZE, 5 * GRANULE_SIZE), *small = allocate_as(0, 64);
    char *mid = allocate_as(0, GRANULE_SIZE), *huge = allocate_as(0, ROOT_SIZE + 1);
    assert_false(large_serves(small, BACKEND_MIN) || large_serves(mid, BACKEND_MIN));
    assert_false(large_serves(huge, ROOT_SIZE));
    if (granule_start(granule_of(aligned)) != granule_of(aligned)) /* the object begins within its range */
        assert_false(large_serves(aligned, object_size(aligned)));
    for (unsigned i = 0; i < 4; i++) jw_free((char *[]){aligned, small, mid, huge}[i]);
    finish();
}

/* It takes the free ranges behind it, if they suffice: each size up to what was free. */
static void large_objects_that_grow(void **state) {
    (void)state;
    enum { FIRST = 32, ALL = 64 };
    start();
    for (uint32_t granules = FIRST + 1; granules <= ALL; granules++) {
        char *object = allocate_as(0, ALL * GRANULE_SIZE);
        assert_ptr_equal(reallocate(object, FIRST * GRANULE_SIZE), object);
        assert_int_equal(object_size(object), FIRST * GRANULE_SIZE);
        pattern_fill(object, FIRST * GRANULE_SIZE, granules);
        size_t size = (granules - 1) * GRANULE_SIZE + 1;
        assert_ptr_equal(reallocate(object, size), object);
        assert_int_equal(object_size(object), large_good_size(size));
        assert_int_equal(object_size(object), weight_round_up(granules) * GRANULE_SIZE);
        assert_true(pattern_holds(object, FIRST * GRANULE_SIZE, granules));
        jw_free(object);
    }
    finish();
}

/* Above the largest range it stays. Below that it stays with more than half of its size. */
static void huge_objects(void **state) {
    (void)state;
    enum { OLD = 6 << 20 };
    static const size_t sizes[] = {1,         ROOT_SIZE / 2, OLD / 2 - 1, OLD / 2, OLD / 2 + 1, ROOT_SIZE - 1,
                                   ROOT_SIZE, ROOT_SIZE + 1, OLD - 1,     OLD,     OLD + 1};
    start();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i], length = size < OLD ? size : OLD;
        char *object = allocate_as(0, OLD);
        pattern_fill(object, length, i);
        atomic_store(&shrunk_in_place, false);
        char *resized = reallocate(object, size);
        bool is_huge = huge_usable_size(resized) > 0, smaller = size <= OLD / 2;
        assert_int_equal(is_huge, !smaller);
        assert_true(pattern_holds(resized, length, i));
        if (size <= OLD) assert_int_equal(resized == object, !smaller);
        if (is_huge && size <= ROOT_SIZE) assert_true(atomic_load(&shrunk_in_place));
        if (smaller || size == OLD) assert_false(atomic_load(&shrunk_in_place));
        jw_free(resized);
    }
    finish();
}

static struct {
    char *object;
    size_t size, alignment;
} wrong;

static void free_wrongly(void) {
    if (wrong.alignment) free_aligned_of_size(wrong.object, wrong.alignment, wrong.size);
    else free_of_size(wrong.object, wrong.size);
}

/* Frees a new object with a smaller size. `right`: may be, since realloc has left some object in its place. */
static void check_sized_free(size_t old, size_t size, bool shrunk, bool right) {
    wrong.object = allocate_as(0, old);
    wrong.size = size;
    atomic_store(&shrunk_in_place, shrunk);
    for (wrong.alignment = 0; wrong.alignment < 2; wrong.alignment++)
        if (!right) expect_abort(free_wrongly, "jwmalloc: wrong size");
    if (right) free_of_size(wrong.object, size);
    else jw_free(wrong.object);
}

static void a_sized_free_accepts_what_realloc_has_left(void **state) {
    (void)state;
    static const size_t olds[] = {64, FRONTEND_MAX, 4096, 64 << 10, 6 << 20};
    start();
    for (unsigned i = 0; i < sizeof olds / sizeof *olds; i++) {
        size_t old = olds[i];
        check_sized_free(old, old / 2 + 1, false, old == 64 << 10); /* a cached range would serve it so */
        check_sized_free(old, old / 2 + 1, true, true);
        check_sized_free(old, old / 2, true, false);
        check_sized_free(old, old, false, true);
        check_sized_free(old, old + 1, true, false);
    }
    check_sized_free(9 << 20, (4 << 20) + 1, true, true); /* no mapping becomes a range while it is larger than one */
    check_sized_free(9 << 20, 4 << 20, true, false);
    atomic_store(&shrunk_in_place, false);
    finish();
}

/* Without the checks each size and alignment will do, of each tier and another thread's objects; misuse of other kinds
 * is reported. */
static void free_inside(void) {
    free_aligned_of_size(wrong.object + 8, 1, wrong.size);
}

static void sizes_are_not_checked_on_request(void **state) {
    (void)state;
    static const size_t olds[] = {64, FRONTEND_MAX, 4096, 64 << 10, 6 << 20};
    start();
    options.check_sizes = false;
    for (unsigned i = 0; i < sizeof olds / sizeof *olds; i++) {
        const size_t told[] = {0, 1, olds[i] / 2, olds[i] + 1, 3000, 5 << 20, SIZE_MAX - 1};
        for (unsigned j = 0; j < sizeof told / sizeof *told; j++) {
            free_of_size(allocate_as(j % 2, olds[i]), told[j]);
            free_aligned_of_size(allocate_as(0, olds[i]), 3, told[j]);
            free_aligned_of_size(allocate_as(0, olds[i]), (size_t)1 << 30, olds[i]);
        }
        wrong.object = allocate_as(0, olds[i]);
        wrong.size = olds[i];
        expect_abort(free_inside, "jwmalloc: invalid free");
        jw_free(wrong.object);
    }
    free_of_size(NULL, 1);
    options.check_sizes = true;
    finish();
}

static unsigned calls_back;

static int count_call(size_t size) {
    (void)size;
    calls_back++;
    return 0;
}

/* No object can be so large: nothing goes back for it, and the program is not asked. */
static void too_much(void **state) {
    (void)state;
    start();
    static const size_t olds[] = {16, FRONTEND_MAX, 4096, 64 << 10, 5 << 20};
    limit_register(count_call);
    for (unsigned i = 0; i < sizeof olds / sizeof *olds; i++) {
        char *object = allocate_as(0, olds[i]);
        pattern_fill(object, olds[i], i);
        jw_free(allocate_as(0, 32 << 10));
        size_t cached = range_cache_granules(&heaps[0]->range_cache), given = thrift_given_back();
        assert_true(cached > 0);
        assert_null(reallocate(object, (size_t)PTRDIFF_MAX + 1));
        assert_null(reallocate(object, SIZE_MAX));
        assert_int_equal(range_cache_granules(&heaps[0]->range_cache), cached);
        assert_true(thrift_given_back() == given && calls_back == 0);
        assert_true(pattern_holds(object, olds[i], i));
        jw_free(object);
    }
    limit_register(NULL);
    finish();
}

static int make_room(size_t size) {
    calls_back += size > 0;
    errno = ENOMEM;
    options.limit_hard = 0;
    return 1;
}

/* A request that the callback serves leaves errno as it is, whatever failed in the callback. */
static void a_callback_leaves_errno(void **state) {
    (void)state;
    enum { OLD_ERROR = 77 };
    static const size_t sizes_asked[] = {64, FRONTEND_MAX, 8192, 64 << 10, 5 << 20};
    start();
    limit_register(make_room);
    for (unsigned i = 0; i < sizeof sizes_asked / sizeof *sizes_asked; i++) {
        void **objects = NULL, **object;
        calls_back = 0;
        options.limit_hard = 2 * ROOT_SIZE;
        errno = OLD_ERROR;
        for (; calls_back == 0; objects = object) {
            assert_non_null(object = jw_malloc(sizes_asked[i]));
            *object = objects;
        }
        assert_int_equal(errno, OLD_ERROR);
        for (; (object = objects); jw_free(object)) objects = *object;
    }
    calls_back = 0;
    limit_register(NULL);
    finish();
}

static char *kept;

static int shrink_and_ask(size_t size) {
    (void)size;
    if (++calls_back > 1) return 0;
    char *shrunk = reallocate(kept, 8);
    CHECK(shrunk && !jw_malloc(BACKEND_MAX));
    kept = shrunk;
    return 0;
}

/* Also behind a realloc that held the callback back. */
static void a_callback_is_not_called_in_itself(void **state) {
    (void)state;
    static const size_t olds[] = {FRONTEND_MAX, 8192, 5 << 20};
    start();
    limit_register(shrink_and_ask);
    for (unsigned i = 0; i < sizeof olds / sizeof *olds; i++) {
        kept = allocate_as(0, olds[i]);
        options.limit_hard = BACKEND_MAX;
        assert_null(jw_malloc(BACKEND_MAX));
        assert_int_equal(calls_back, 1);
        options.limit_hard = calls_back = 0;
        jw_free(kept);
    }
    limit_register(NULL);
    atomic_store(&shrunk_in_place, false);
    atomic_store(&shrunk_without_memory, false);
    finish();
}

/* Where no memory is left a smaller size needs none: the object stays, the program is not asked, errno stays, and a
 * sized free accepts the size. What is above the smallest large or huge size goes back. */
static void smaller_without_memory(void **state) {
    (void)state;
    enum { OLD_ERROR = 77, LEAST = 8 };
    static const size_t olds[] = {64, 128, FRONTEND_MAX, 8192, BACKEND_MIN, 64 << 10, 1 << 20, 6 << 20, 20 << 20};
    start();
    limit_register(count_call);
    for (unsigned i = 0; i < sizeof olds / sizeof *olds; i++) {
        for (size_t size = olds[i] / 2; size >= LEAST; size /= 3) {
            char *object = allocate_as(0, olds[i]);
            void **fillers = NULL, **filler;
            size_t old = object_size(object), large = large_usable_size(object), huge = huge_usable_size(object);
            pattern_fill(object, size, i);
            options.limit_hard = 1;
            for (; (filler = jw_malloc(size)); fillers = filler) *filler = fillers;
            assert_true(calls_back > 0 || size > FRONTEND_MAX);
            calls_back = 0;
            atomic_store(&shrunk_without_memory, false);
            errno = OLD_ERROR;
            assert_ptr_equal(reallocate(object, size), object);
            assert_int_equal(errno, OLD_ERROR);
            assert_int_equal(calls_back, 0);
            assert_true(pattern_holds(object, size, i));
            if (large) assert_true(object_size(object) < large);
            else if (huge) assert_true(object_size(object) <= huge);
            else assert_int_equal(object_size(object), old);
            options.limit_hard = 0;
            free_of_size(object, size);
            for (; (filler = fillers); jw_free(filler)) fillers = *filler;
        }
    }
    calls_back = 0;
    limit_register(NULL);
    atomic_store(&shrunk_in_place, false);
    atomic_store(&shrunk_without_memory, false);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_objects),
        cmocka_unit_test(mid_objects),
        cmocka_unit_test(large_objects_that_shrink),
        cmocka_unit_test(large_objects_that_serve),
        cmocka_unit_test(large_objects_that_grow),
        cmocka_unit_test(huge_objects),
        cmocka_unit_test(a_sized_free_accepts_what_realloc_has_left),
        cmocka_unit_test(sizes_are_not_checked_on_request),
        cmocka_unit_test(too_much),
        cmocka_unit_test(a_callback_leaves_errno),
        cmocka_unit_test(a_callback_is_not_called_in_itself),
        cmocka_unit_test(smaller_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
