/* coarse_test.c - which class a heap gives a size: a coarse one, until that has JW_COARSE_SLABS slabs in use. */
#include "frontend/heap_collect.h"
#include "frontend/heap_fork.h"
#include "frontend/size_map.h"
#include "heap_players.h"

enum { MANY = GRANULE_SIZE / 8 * 2 * JW_COARSE_SLABS };

static void *many[MANY];

static unsigned class_of(unsigned heap, size_t size) {
    void *object = allocate_as(heap, size);
    unsigned class = slab_of(object)->class;
    size_t usable = object_size(object);
    assert_true(usable >= size && usable == size_classes[class].size && good_size(1, size) <= usable);
    assert_true(size_class_serves((uint8_t) class, size));
    free_as(heap, object);
    return class;
}

static void a_coarse_class_serves_its_sizes_alone(void **state) {
    (void)state;
    for (size_t size = 1; size <= FRONTEND_MAX; size++) {
        unsigned fine = size_class_of(size), coarse = size_class_coarse(fine);
        unsigned most = JW_GRANULE_SHIFT == 12 || coarse > size_class_of(64) ? 2 : 8;
        assert_true(coarse >= fine && size_classes[coarse].size < most * size_classes[fine].size);
        assert_true(size_class_alignment(coarse) >= size_class_alignment(fine));
        for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++)
            assert_int_equal(size_class_serves((uint8_t) class, size), class == fine || class == coarse);
    }
    const size_t of_none[] = {0, FRONTEND_MAX + 1, SIZE_MAX, SIZE_MAX / 2 + 64, (size_t)1 << (sizeof(size_t) * 4)};
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++)
        for (unsigned i = 0; i < sizeof of_none / sizeof *of_none; i++)
            assert_false(size_class_serves((uint8_t) class, of_none[i]));
}

static void few_objects_are_of_coarse_classes(void **state) {
    (void)state;
    assert_int_equal(size_class_coarse(size_class_of(9)), size_class_of(JW_GRANULE_SHIFT == 12 ? 16 : 64));
    start();
    for (size_t size = 1; size <= FRONTEND_MAX; size++) {
        unsigned fine = size_class_of(size), coarse = size_class_coarse(fine);
        assert_int_equal(class_of(1, size), coarse);
        assert_int_equal(class_of(0, size), JW_COARSE_FIRST ? coarse : fine);
    }
    finish();
}

static void check_classes_after_fork(void) {
    heap_before_fork();
    heap_after_fork(true);
    CHECK(heap_attach());
    for (size_t size = 1; size <= FRONTEND_MAX; size++) CHECK(slab_of(jw_malloc(size))->class == size_class_of(size));
    heap_enter(&no_heap);
    CHECK(heap_attach()); /* of a second thread */
    CHECK(slab_of(jw_malloc(300))->class == size_class_coarse(size_class_of(300)));
}

/* A fork's child begins anew: its first heap is that of a program's only thread. */
static void a_childs_first_heap_has_all_classes(void **state) {
    (void)state;
    start();
    fflush(NULL);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        check_classes_after_fork();
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    finish();
}

static void open_with_slabs_still_to_come(void) {
    heap_before_fork();
    heap_after_fork(true);
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++)
        if (heaps[1]->coarse_slabs[class] > 0) heaps[1]->coarse_slabs[class] = class % 2 + 1;
    heap_begin_generation(heaps[1]);
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) CHECK(heaps[1]->coarse_slabs[class] == 0);
    for (size_t size = 1; size <= FRONTEND_MAX; size++) CHECK(size_map_class(heaps[1], size) == size_class_of(size));
}

/* Such a heap may have had slabs before: some classes lack one slab, others two. */
static void a_childs_heap_opens_each_class_that_is_not_open(void **state) {
    (void)state;
    start();
    run_in_child(open_with_slabs_still_to_come);
    finish();
}

/* As often as it likes: what is free is not in use. */
static void a_thread_with_few_objects_stays_coarse(void **state) {
    (void)state;
    start();
    for (unsigned round = 0; round < 10 * JW_COARSE_SLABS; round++) {
        assert_int_equal(class_of(1, 300), size_class_coarse(size_class_of(300)));
        heap_enter(heaps[1]);
        heap_drain_own();
        heap_enter(heaps[0]);
        assert_int_equal(heaps[1]->in_use_count, 0);
    }
    finish();
}

/* With each size in turn, from small to large: many objects of the last size open its group, and no other one. */
static void many_objects_open_the_classes(void **state) {
    (void)state;
    start();
    for (size_t size = 1; size <= FRONTEND_MAX; size += size < 16 ? 1 : size / 16) {
        unsigned fine = size_class_of(size), coarse = size_class_coarse(fine), count = 0;
        size_t next = (size_t)2 * size_classes[coarse].size;
        while (count < 2 * JW_COARSE_SLABS * size_class_capacity(coarse)) many[count++] = allocate_as(1, size);
        assert_int_equal(class_of(1, size), fine);
        if (next <= FRONTEND_MAX) assert_int_equal(class_of(1, next - 8), size_class_coarse(size_class_of(next - 8)));
        walk_all();
        while (count > 0) free_as(1, many[--count]);
        walk_all();
        assert_int_equal(class_of(1, size), fine);
    }
    for (size_t size = 1; size <= FRONTEND_MAX; size++) assert_int_equal(class_of(1, size), size_class_of(size));
    finish();
}

static void alignments_hold(void **state) {
    (void)state;
    start();
    for (size_t alignment = 8; alignment <= FRONTEND_MAX; alignment *= 2) {
        for (size_t size = 1; size <= FRONTEND_MAX; size++) {
            for (unsigned heap = 0; heap < HEAPS; heap++) {
                heap_enter(heaps[heap]);
                void *object = allocate_aligned(alignment, size);
                assert_true(object && (uintptr_t)object % alignment == 0 && object_size(object) >= size);
                free_aligned_of_size(object, alignment, size);
                heap_enter(heaps[0]);
            }
        }
    }
    finish();
}

/* The heap of an ended thread: classes that were open stay open, and the count goes on where it stood. */
static void a_taken_heap_keeps_its_map(void **state) {
    (void)state;
    start();
    struct heap *heap = heaps[2];
    void *kept = allocate_as(2, 20);
    walk_all();
    heap_abandon(heap);
    heaps[2] = NULL;
    while (heaps[2] != heap) heaps[2] = heap_take_or_create();
    walk_all();
    for (unsigned count = 0; count < 2 * JW_COARSE_SLABS * size_class_capacity(size_class_of(32)); count++) {
        many[count] = allocate_as(2, 20);
        if (count % size_class_capacity(size_class_of(32)) == 0) walk_all();
    }
    for (unsigned count = 0; count < 2 * JW_COARSE_SLABS * size_class_capacity(size_class_of(32)); count++)
        free_as(2, many[count]);
    free_as(2, kept);
    finish();
}

/* What could not be had is no slab in use. */
static void a_refused_slab_does_not_count(void **state) {
    (void)state;
    start();
    sim_fail_after(0);
    heap_enter(heaps[1]);
    for (unsigned i = 0; i < 4 * JW_COARSE_SLABS; i++) assert_null(jw_malloc(20));
    heap_enter(heaps[0]);
    sim_fail_after(SIM_NEVER);
    walk_all();
    finish();
}

/* All that the program may use, in a coarse class as well. */
static void zeroed_objects_are_zero_throughout(void **state) {
    (void)state;
    start();
    for (size_t size = 1; size <= FRONTEND_MAX; size++) {
        for (unsigned heap = 0; heap < HEAPS; heap++) {
            void *before = allocate_as(heap, size);
            memset(before, 0xa5, object_size(before));
            free_as(heap, before);
            heap_enter(heaps[heap]);
            char *object = allocate_zeroed(size);
            for (size_t i = 0; i < object_size(object); i++) CHECK(object[i] == 0);
            free_of_size(object, size);
            heap_enter(heaps[0]);
        }
    }
    finish();
}

/* What stays in place is not as malloc would have it only where no class serves both sizes. */
static void resizing_within_a_coarse_class_is_no_shrinking(void **state) {
    (void)state;
    start();
    heap_enter(heaps[1]);
    void *object = allocate_zeroed(1000), *same = reallocate(object, 600);
    assert_ptr_equal(same, object);
    assert_false(shrunk_in_place);
    free_of_size(same, 600);
    heap_enter(heaps[0]);
    finish();
}

/* Objects of both kinds of class, freed by their heap and by another one. `finish` misses each that is not free. */
static void a_free_with_the_size_frees(void **state) {
    (void)state;
    start();
    for (size_t size = 1; size <= FRONTEND_MAX; size++)
        for (unsigned heap = 0; heap < HEAPS * HEAPS; heap++) {
            void *object = allocate_as(heap / HEAPS, size);
            heap_enter(heaps[heap % HEAPS]);
            free_of_size(object, size);
            heap_enter(heaps[0]);
        }
    walk_all();
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_coarse_class_serves_its_sizes_alone),
        cmocka_unit_test(few_objects_are_of_coarse_classes),
        cmocka_unit_test(a_childs_first_heap_has_all_classes),
        cmocka_unit_test(a_childs_heap_opens_each_class_that_is_not_open),
        cmocka_unit_test(a_thread_with_few_objects_stays_coarse),
        cmocka_unit_test(a_taken_heap_keeps_its_map),
        cmocka_unit_test(a_refused_slab_does_not_count),
        cmocka_unit_test(resizing_within_a_coarse_class_is_no_shrinking),
        cmocka_unit_test(many_objects_open_the_classes),
        cmocka_unit_test(alignments_hold),
        cmocka_unit_test(a_free_with_the_size_frees),
        cmocka_unit_test(zeroed_objects_are_zero_throughout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
