/* slab_test.c - size classes, the test of an address, the cross list, and one slab's lists. */
#include "unit.h"

#include "frontend/heap.h"

enum { FAR = 3 }; /* granules on either side */

static _Alignas(1 << JW_GRANULE_SHIFT) char memory[(2 * FAR + 1) << JW_GRANULE_SHIFT];
static char *const start_of_slab = memory + ((size_t)FAR << JW_GRANULE_SHIFT);
static struct slab *const slab = (struct slab *)(memory + ((size_t)FAR << JW_GRANULE_SHIFT));
static struct heap heap;

static void **local(void) {
    return &heap.local[slab->class];
}

static bool refill(void) {
    *local() = slab_refill(slab);
    return *local();
}

static void classes_cover_all_sizes(void **state) {
    (void)state;
    for (size_t size = 1; size <= FRONTEND_MAX; size++) {
        unsigned class = 0;
        while (size_classes[class].size < size) class ++;
        assert_int_equal(size_class_of(size), class);
    }
    assert_int_equal(size_classes[SIZE_CLASS_COUNT - 1].size, FRONTEND_MAX);
}

static void objects_lie_in_the_slab(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        const struct size_class *shape = &size_classes[class];
        size_t end = shape->origin + (size_t)size_class_capacity(class) * shape->size;
        assert_true(shape->origin >= SLAB_HEADER_SIZE && end <= GRANULE_SIZE && GRANULE_SIZE - end < shape->size);
        assert_int_equal(shape->size % 8, 0);
        assert_true(size_class_alignment(class) >= (shape->size == 8 ? 8 : 16));
        assert_int_equal(shape->origin % size_class_alignment(class), 0);
        assert_int_equal(shape->size % size_class_alignment(class), 0);
    }
}

/* Every address of the slab and around it, header and tail included. */
static void an_address_is_an_object_or_not(void **state) {
    (void)state;
    unsigned wrong_classes = 0;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        const struct size_class *shape = &size_classes[class];
        slab_format(slab, &heap, class);
        size_t first = shape->origin, end = first + (size_t)size_class_capacity(class) * shape->size;
        unsigned wrong = 0;
        for (size_t offset = 0; offset < GRANULE_SIZE; offset++) {
            bool is_object = offset >= first && offset < end && (offset - first) % shape->size == 0;
            bool told = slab_has_object(start_of_slab + offset, &slab->origin, slab->reciprocal, slab->bound);
            if (told != is_object && wrong++ == 0)
                printf("class of %u B: offset %zu of %zu is told wrong\n", shape->size, offset, end);
            CHECK(told == slab_has_object(start_of_slab + offset, &slab->cross_origin, slab->cross_reciprocal,
                                          slab->cross_bound));
            CHECK(!slab_has_object(start_of_slab + offset, &slab->origin, slab->reciprocal,
                                   0)); /* an empty slab has none */
        }
        wrong_classes += wrong > 0;
    }
    assert_int_equal(wrong_classes, 0);
}

/* Pushes the way of the hit path, or the general one. */
static void push(char *object, bool slowly) {
    CHECK(slowly ? !cross_push_slowly(&slab->cross, start_of_slab, object)
                 : cross_push(&slab->cross, start_of_slab, object));
}

static void the_cross_list_counts_and_leads(void **state) {
    (void)state;
    slab_format(slab, &heap, 1);
    unsigned count, capacity = size_class_capacity(1), step = size_classes[1].size;
    char *first = start_of_slab + size_classes[1].origin, *order[1 << (JW_GRANULE_SHIFT - 4)];
    assert_ptr_equal(cross_drain(&slab->cross, start_of_slab, &count), start_of_slab);
    assert_int_equal(count, 0);
    for (unsigned i = 0; i < capacity; i++) {
        order[i] = first + (size_t)(i * 7 % capacity) * step; /* up and down in the slab */
        push(order[i], i % 3 == 0);
        assert_int_equal(cross_count(&slab->cross), i + 1);
    }
    char *object = cross_drain(&slab->cross, start_of_slab, &count);
    assert_int_equal(count, capacity);
    assert_int_equal(slab->cross, 0);
    for (unsigned i = capacity; i-- > 0; object = link_next(object, map.key)) assert_ptr_equal(object, order[i]);
    assert_true(link_end(object));
}

/* Free objects are told from all others, whatever those hold. */
static void free_objects_are_told(void **state) {
    (void)state;
    slab_format(slab, &heap, 1);
    slab->state = CURRENT;
    assert_true(refill());
    void *object = heap_pop(&heap, slab->class, map.key), *next = *local();
    assert_true(slab_has_object(object, &slab->origin, slab->reciprocal, slab->bound));
    assert_true(slab_has_doubtful_object(object));
    assert_false(slab_has_object(next, &slab->origin, slab->reciprocal, slab->bound));
    assert_false(slab_has_doubtful_object(next));
    for (int64_t number = -1; number > INT64_MIN / 4; number *= 3) {
        memcpy(object, &number, sizeof number); /* what a link looks like, but it is none */
        bool told = slab_has_object(object, &slab->origin, slab->reciprocal, slab->bound);
        assert_true(told == (number < -(1ll << 48)));
        assert_true(slab_has_doubtful_object(object));
    }
    link_write(object, NULL); /* the last one of a list, and that of a cross list */
    assert_false(slab_has_doubtful_object(object));
    link_write(object, slab);
    assert_false(slab_has_doubtful_object(object));
    link_write(object, start_of_slab + GRANULE_SIZE);
    assert_true(slab_has_doubtful_object(object));
}

static void the_full_mark_is_seen_by_one(void **state) {
    (void)state;
    slab_format(slab, &heap, 1);
    char *object = start_of_slab + size_classes[1].origin;
    unsigned count;
    assert_false(cross_unmark_full(&slab->cross));
    assert_true(cross_mark_full(&slab->cross));
    assert_int_equal(cross_count(&slab->cross), 0);
    assert_false(cross_mark_full(&slab->cross));
    assert_true(cross_unmark_full(&slab->cross));
    assert_true(cross_mark_full(&slab->cross));
    assert_false(cross_push(&slab->cross, start_of_slab, object)); /* the hit path leaves a full slab alone */
    assert_int_equal(slab->cross, CROSS_FULL);
    assert_true(cross_push_slowly(&slab->cross, start_of_slab, object));
    push(object + size_classes[1].size, true);
    push(object + 2 * size_classes[1].size, false);
    assert_int_equal(cross_count(&slab->cross), 3);
    assert_false(cross_unmark_full(&slab->cross));
    assert_false(cross_mark_full(&slab->cross)); /* objects have come back */
    assert_ptr_equal(cross_drain(&slab->cross, start_of_slab, &count), object + 2 * size_classes[1].size);
    assert_int_equal(count, 3);
}

/* out + length of freed list + not yet carved = capacity, after every step. */
static void objects_are_carved_once_and_come_back(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        static bool used[1 << JW_GRANULE_SHIFT];
        memset(used, 0, sizeof used);
        slab_format(slab, &heap, class);
        slab->state = CURRENT;
        slab->budget = 1;
        *local() = NULL;
        unsigned capacity = size_class_capacity(class), given = 0;
        for (;; given++) {
            if (link_end(*local()) && !refill()) break;
            size_t offset = (size_t)((char *)heap_pop(&heap, slab->class, map.key) - start_of_slab);
            assert_true(offset < GRANULE_SIZE && !used[offset]);
            used[offset] = true;
            assert_int_equal(slab_out(slab) + slab_list_length(slab->freed) + (capacity - slab->carved), capacity);
            assert_int_equal(given + 1 + slab_list_length(*local()), slab_out(slab));
        }
        assert_int_equal(given, capacity);
        for (size_t offset = 0; offset < GRANULE_SIZE; offset++)
            if (used[offset]) push(start_of_slab + offset, false);
        assert_int_equal(slab_out(slab), capacity);
        if (class % 2) {
            assert_true(refill()); /* they are out as long as they are in the local list */
            assert_int_equal(slab_out(slab), capacity);
        } else {
            slab_collect(slab);
            assert_int_equal(slab_out(slab), 0);
            assert_int_equal(slab_list_length(slab->freed), capacity);
            assert_true(refill());
        }
        assert_int_equal(slab_list_length(*local()), capacity);
    }
}

/* Collecting puts the cross list before what the freed list holds, and leaves the local one alone. */
static void collecting_keeps_the_freed_list(void **state) {
    (void)state;
    slab_format(slab, &heap, SIZE_CLASS_COUNT - 3);
    slab->state = CURRENT;
    slab->budget = 1;
    assert_true(refill());
    void *first = heap_pop(&heap, slab->class, map.key), *second = heap_pop(&heap, slab->class, map.key),
         *third = heap_pop(&heap, slab->class, map.key);
    unsigned left = slab_list_length(*local()), out = slab_out(slab);
    link_write(third, slab->freed);
    slab->freed = third;
    slab->budget--;
    slab_collect(slab); /* nothing to collect */
    assert_int_equal(slab_list_length(slab->freed), 1);
    push(first, false);
    push(second, true);
    slab_collect(slab);
    assert_int_equal(slab_list_length(slab->freed), 3);
    assert_int_equal(slab_list_length(*local()), left);
    assert_int_equal(slab_out(slab), out - 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_cover_all_sizes),
        cmocka_unit_test(objects_lie_in_the_slab),
        cmocka_unit_test(an_address_is_an_object_or_not),
        cmocka_unit_test(the_cross_list_counts_and_leads),
        cmocka_unit_test(free_objects_are_told),
        cmocka_unit_test(the_full_mark_is_seen_by_one),
        cmocka_unit_test(objects_are_carved_once_and_come_back),
        cmocka_unit_test(collecting_keeps_the_freed_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
