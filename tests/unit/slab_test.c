/* slab_test.c - size classes, the test of an address, the cross list, and one slab's lists. */
#include "unit.h"

#include "frontend/heap_key.h"
#include "frontend/heap_pop.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_free.h"
#include "frontend/slab_links.h"
#include "frontend/slab_lists.h"

enum { FAR = 3 }; /* granules on either side */

static _Alignas(1 << JW_GRANULE_SHIFT) char memory[(2 * FAR + 1) << JW_GRANULE_SHIFT];
static char *const start_of_slab = memory + ((size_t)FAR << JW_GRANULE_SHIFT);
static struct slab *slab; /* the memory's record */
static struct heap heap;

static void **local(void) {
    return &heap.local[slab->class].first;
}

/* As a current slab is refilled. */
static bool refill(void) {
    void *first = slab_refill_freed(slab);
    if (!first) first = slab_refill_slowly(slab);
    *local() = first ? first : LINK_END;
    return first;
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

static void classes_have_each_alignment(void **state) {
    (void)state;
    for (size_t alignment = 32; alignment <= FRONTEND_MAX; alignment *= 2)
        for (size_t size = 1; size <= FRONTEND_MAX; size++) {
            unsigned class = size_class_of(size);
            while (class < SIZE_CLASS_COUNT && size_classes[class].size % alignment != 0) class ++;
            assert_int_equal(size_class_of_aligned(alignment, size), class);
        }
}

static void objects_lie_in_the_slab(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        const struct size_class *shape = &size_classes[class];
        size_t end = (size_t)size_class_capacity(class) * shape->size;
        assert_true(end <= GRANULE_SIZE && GRANULE_SIZE - end < shape->size);
        assert_int_equal(shape->size % 8, 0);
        assert_true(size_class_alignment(class) >= (shape->size == 8 ? 8 : 16));
        assert_int_equal(shape->size % size_class_alignment(class), 0);
    }
}

static const void *away(const char *address, uint64_t distance) {
    return (const void *)((uintptr_t)address + (uintptr_t)distance); // NOLINT(performance-no-int-to-ptr)
}

/* Every address of the slab, its tail included, and of what shares its place in a window. */
static void an_address_is_an_object_or_not(void **state) {
    (void)state;
    unsigned wrong_classes = 0;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        const struct size_class *shape = &size_classes[class];
        slab_format(slab, start_of_slab, class);
        size_t end = (size_t)size_class_capacity(class) * shape->size;
        unsigned wrong = 0;
        for (size_t offset = 0; offset < GRANULE_SIZE; offset++) {
            char *address = start_of_slab + offset;
            bool is_object = offset < end && offset % shape->size == 0;
            if (slab_has_object(address, slab) != is_object && wrong++ == 0)
                printf("class of %u B: offset %zu of %zu is told wrong\n", shape->size, offset, end);
            slab->freed.budget = 2;
            CHECK(slab_count_free(slab, &slab->freed, address) == !is_object && slab->freed.budget == 1);
            CHECK(slab_count_free(slab, &slab->freed, address) &&
                  slab->freed.budget == 0); /* the last one wants attention, too */
            for (uint64_t far = 1 << 20; far < UINTPTR_MAX && far < 1ull << 48; far *= 2)
                CHECK(sizeof(void *) < 8 ||
                      (!slab_has_start(away(address, far), slab) && !slab_has_start(away(address, -far), slab)));
            slab->origin += ORIGIN_POISON; /* an empty slab has none */
            CHECK(!slab_has_object(address, slab) && !slab_has_start(address, slab));
            slab->origin -= ORIGIN_POISON;
        }
        wrong_classes += wrong > 0;
    }
    assert_int_equal(wrong_classes, 0);
}

static void begin_slab(unsigned class) {
    slab_format(slab, start_of_slab, class);
    slab->key = (uintptr_t)frontend_key;
    slab->marked = false;
    cross_empty(&slab->cross);
}

/* Pushes the way of the hit path, or the general one. */
static void push(char *object, bool slowly) {
    CHECK(slowly ? !cross_push_slowly(&slab->cross, slab_origin(slab), object, slab_key(slab))
                 : cross_push(&slab->cross, slab_origin(slab), object, slab_key(slab)));
}

static void the_cross_list_counts_and_leads(void **state) {
    (void)state;
    begin_slab(1);
    unsigned count, capacity = size_class_capacity(1), step = size_classes[1].size;
    char *first = start_of_slab, *order[1 << (JW_GRANULE_SHIFT - 4)];
    assert_ptr_equal(cross_drain(&slab->cross, slab_origin(slab), &count), slab_origin(slab));
    assert_int_equal(count, 0);
    for (unsigned i = 0; i < capacity; i++) {
        order[i] = first + (size_t)(i * 7 % capacity) * step; /* up and down in the slab */
        push(order[i], i % 3 == 0);
        assert_int_equal(cross_count(&slab->cross), i + 1);
    }
    char *object = cross_drain(&slab->cross, slab_origin(slab), &count);
    assert_int_equal(count, capacity);
    assert_int_equal(slab->cross.raw, 0);
    for (unsigned i = capacity; i-- > 0; object = slab_next(object, slab_key(slab))) assert_ptr_equal(object, order[i]);
    assert_true(link_is_end(object));
}

/* Free objects are told from all others, whatever those hold. */
static void free_objects_are_told(void **state) {
    (void)state;
    begin_slab(1);
    slab->state = CURRENT;
    assert_true(refill());
    void *object = heap_pop(local(), slab_key(slab)), *next = *local();
    assert_true(slab_has_object(object, slab));
    assert_false(slab_has_link(object));
    assert_false(slab_has_object(next, slab));
    assert_true(slab_has_link(next));
    for (int64_t number = -1; number > INT64_MIN / 4; number *= 3) {
        memcpy(object, &number, sizeof number); /* what a link looks like, but it is none */
        bool told = slab_has_object(object, slab);
        assert_true(told == (number < -(1ll << 48)));
        assert_false(slab_has_link(object));
    }
    link_write(object, LINK_END, slab_key(slab)); /* the last one of a list, and that of a cross list */
    assert_true(slab_has_link(object));
    _Atomic(uintptr_t) *owner = &page_map.slot_owner[granule_of(start_of_slab) / ROOT_GRANULES];
    *owner = align_down((uintptr_t)start_of_slab, ROOT_SIZE);
    link_write(object, slab_origin(slab), slab_key(slab));
    assert_true(slab_has_link(object));
    link_write(object, away(start_of_slab, NEAR_SIZE), slab_key(slab)); /* far, where none is cached */
    assert_false(slab_has_link(object));
    link_write(object, away(slab_origin(slab), NEAR_SIZE), slab_key(slab)); /* like an origin, of no slab */
    assert_false(slab_has_link(object));
    *owner = 0;
}

static void the_full_mark_is_seen_by_one(void **state) {
    (void)state;
    slab_format(slab, start_of_slab, 1);
    char *object = start_of_slab;
    unsigned count;
    for (unsigned mark = 0; mark < 2; mark++) { /* a new slab has one */
        assert_int_equal(cross_count(&slab->cross), 0);
        assert_false(slab_is_reopening(slab));
        assert_false(cross_push(&slab->cross, slab_origin(slab), object,
                                slab_key(slab))); /* the hit path leaves the mark alone */
        assert_int_equal(slab->cross.raw, CROSS_FULL);
        assert_ptr_equal(cross_drain(&slab->cross, slab_origin(slab), &count), slab_origin(slab));
        assert_int_equal(slab->cross.raw, CROSS_FULL);
        assert_true(cross_push_slowly(&slab->cross, slab_origin(slab), object, slab_key(slab)));
        assert_true(slab_is_reopening(slab));
        push(object + size_classes[1].size, true);
        push(object + 2 * size_classes[1].size, false);
        assert_int_equal(cross_count(&slab->cross), 3);
        slab->marked = false;
        assert_false(slab_mark(slab)); /* objects have come back */
        assert_false(slab->marked);
        assert_ptr_equal(cross_drain(&slab->cross, slab_origin(slab), &count), object + 2 * size_classes[1].size);
        assert_int_equal(count, 3);
        assert_true(slab_mark(slab));
    }
}

/* out + length of freed list + not yet linked = capacity, after every step. */
static void objects_are_linked_once_and_come_back(void **state) {
    (void)state;
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        static bool used[1 << JW_GRANULE_SHIFT];
        memset(used, 0, sizeof used);
        begin_slab(class);
        slab->state = CURRENT;
        slab->freed.budget = 1;
        *local() = LINK_END;
        unsigned capacity = size_class_capacity(class), given = 0;
        for (;; given++) {
            if (link_is_end(*local()) && !refill()) break;
            size_t offset = (size_t)((char *)heap_pop(local(), slab_key(slab)) - start_of_slab);
            assert_true(offset < GRANULE_SIZE && !used[offset]);
            used[offset] = true;
            assert_int_equal(slab_out(slab) + slab_list_length(slab->freed.first) + (capacity - slab->linked),
                             capacity);
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
            slab_drain_cross(slab);
            assert_int_equal(slab_out(slab), 0);
            assert_int_equal(slab_list_length(slab->freed.first), capacity);
            assert_true(refill());
        }
        assert_int_equal(slab_list_length(*local()), capacity);
    }
}

/* A program waits for a refill. In random order all are linked, or the order could be guessed. */
static void a_refill_links_few_objects(void **state) {
    (void)state;
    begin_slab(0);
    slab->state = CURRENT;
    slab->freed.budget = 1;
    assert_true(refill());
    assert_int_equal(slab->linked > LINKED_OBJECTS, RANDOM_ORDER);
    while (refill()) continue;
    assert_int_equal(slab->linked, size_class_capacity(0));
    slab_scatter_secret = 1;
    begin_slab(0);
    slab->state = CURRENT;
    slab->freed.budget = 1;
    assert_true(refill() && slab->linked > LINKED_OBJECTS);
    slab_scatter_secret = 0;
}

/* Collecting puts the cross list before what the freed list holds, and leaves the local one alone. */
static void collecting_keeps_the_freed_list(void **state) {
    (void)state;
    begin_slab(SIZE_CLASS_COUNT - 3);
    slab->state = CURRENT;
    slab->freed.budget = 1;
    assert_true(refill());
    void *first = heap_pop(local(), slab_key(slab)), *second = heap_pop(local(), slab_key(slab)),
         *third = heap_pop(local(), slab_key(slab));
    unsigned left = slab_list_length(*local()), out = slab_out(slab);
    free_target_push(&slab->freed, third, slab_key(slab));
    slab->freed.budget--;
    slab_drain_cross(slab); /* nothing to collect */
    assert_int_equal(slab_list_length(slab->freed.first), 1);
    push(first, false);
    push(second, true);
    slab_drain_cross(slab);
    assert_int_equal(slab_list_length(slab->freed.first), 3);
    assert_int_equal(slab_list_length(*local()), left);
    assert_int_equal(slab_out(slab), out - 3);
}

/* A fork's child gives the objects of a slab out in random order: each of them may be the first. */
static void each_object_may_come_first(void **state) {
    (void)state;
    enum { MANY = 4000 }; /* about 60 for each: none misses by chance */
    unsigned first[64] = {0}, class = 0;
    while (size_class_capacity(class) > 64) class ++;
    for (unsigned i = 1; i <= MANY; i++) {
        slab_scatter_secret = i;
        begin_slab(class);
        slab->state = CURRENT;
        slab->freed.budget = 1;
        assert_true(refill());
        first[(size_t)((char *)*local() - start_of_slab) / size_classes[class].size]++;
    }
    slab_scatter_secret = 0;
    unsigned linked = slab->linked;
    for (unsigned i = 0; i < linked; i++) assert_true(first[i] > 0 && first[i] < 4 * MANY / linked);
}

/* Keys of heaps come from a secret, which each start draws, and each child of a fork. */
static void keys_depend_on_the_secret(void **state) {
    (void)state;
    heap_keys_start();
    uint64_t before = heap_derived(1, FOR_KEY);
    heap_keys_start();
    assert_true(heap_derived(1, FOR_KEY) != before);
    before = heap_derived(1, FOR_KEY);
    heap_keys_before_fork();
    heap_keys_after_fork(false);
    assert_true(heap_derived(1, FOR_KEY) == before);
    heap_keys_before_fork();
    heap_keys_after_fork(true);
    assert_true(heap_derived(1, FOR_KEY) != before && heap_derived(2, FOR_KEY) != heap_derived(1, FOR_KEY));
}

int main(void) {
    if (!page_map_start()) return 1;
    frontend_key = link_key_of(platform_random());
    slab = slab_of(start_of_slab);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_cover_all_sizes),         cmocka_unit_test(classes_have_each_alignment),
        cmocka_unit_test(objects_lie_in_the_slab),         cmocka_unit_test(an_address_is_an_object_or_not),
        cmocka_unit_test(the_cross_list_counts_and_leads), cmocka_unit_test(free_objects_are_told),
        cmocka_unit_test(the_full_mark_is_seen_by_one),    cmocka_unit_test(objects_are_linked_once_and_come_back),
        cmocka_unit_test(collecting_keeps_the_freed_list), cmocka_unit_test(each_object_may_come_first),
        cmocka_unit_test(keys_depend_on_the_secret),       cmocka_unit_test(a_refill_links_few_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
