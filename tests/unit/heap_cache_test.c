/* heap_cache_test.c - objects of full slabs that are cached (frontend/object_cache.h). */
#include "heap_players.h"

#include "frontend/heap_collect.h"
#include "frontend/heap_statistics.h"
#include "frontend/object_cache.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_links.h"

enum { CACHE_ROOM = 2048 };
enum { CACHED_SLABS = 20, OBJECT_CACHE_CAPACITY = GRANULE_SIZE / CACHE_ROOM };

/* Not in the hardened build, nor where granules are so large that no slab has few objects. */
static bool any_is_cached(void) {
    return size_classes[size_class_of(CACHE_ROOM)].cache_room > 0;
}

/* Objects of full slabs, and one more. */
static void *fill_cached(void *objects[CACHED_SLABS * OBJECT_CACHE_CAPACITY]) {
    start();
    for (unsigned i = 0; i < CACHED_SLABS * OBJECT_CACHE_CAPACITY; i++) objects[i] = allocate_as(0, CACHE_ROOM);
    void *last = allocate_as(0, CACHE_ROOM);
    assert_int_equal(heaps[0]->in_use_count, CACHED_SLABS + 1);
    return last;
}

static unsigned cached(unsigned class) {
    unsigned count = 0;
    for (void *object = heaps[0]->local[class].first; !link_is_end(object); object = slab_next(object, heaps[0]->key))
        count += slab_of(object) != heaps[0]->current[class];
    return count;
}

static void objects_of_full_slabs_are_cached(void **state) {
    (void)state;
    if (!any_is_cached()) skip();
    void *objects[CACHED_SLABS * OBJECT_CACHE_CAPACITY], *last = fill_cached(objects);
    unsigned class = size_class_of(CACHE_ROOM), most = size_classes[class].cache_room;
    for (unsigned i = 0; i + 1 < most; i++) {
        free_as(0, objects[i]);
        assert_int_equal(slab_of(objects[i])->state, FULL);
        walk_all();
    }
    struct frontend_statistics statistics;
    frontend_statistics(&statistics);
    assert_int_equal(statistics.classes[class].objects, CACHED_SLABS * OBJECT_CACHE_CAPACITY + 1 - (most - 1));
    for (unsigned i = most - 1; i-- > 0;) assert_ptr_equal(allocate_as(0, CACHE_ROOM), objects[i]);
    for (unsigned i = 0; i < 10 * most; i++) { /* what malloc has taken again does not count */
        free_as(0, objects[0]);
        assert_int_equal(slab_of(objects[0])->state, FULL);
        walk_all();
        assert_ptr_equal(allocate_as(0, CACHE_ROOM), objects[0]);
    }
    walk_all();
    for (unsigned i = 0; i < CACHED_SLABS * OBJECT_CACHE_CAPACITY; i++) free_as(0, objects[i]);
    free_as(0, last);
    finish();
}

static void a_thread_that_only_frees_caches_nothing(void **state) {
    (void)state;
    if (!any_is_cached()) skip();
    void *objects[CACHED_SLABS * OBJECT_CACHE_CAPACITY], *last = fill_cached(objects);
    unsigned class = size_class_of(CACHE_ROOM), most = size_classes[class].cache_room;
    for (unsigned i = 0; i < CACHED_SLABS * OBJECT_CACHE_CAPACITY; i++) {
        free_as(0, objects[i]);
        walk_all();
        if (i + 1 == most) assert_int_equal(cached(class), most / 2);
        if (i + 1 == most + (most - most / 2)) assert_int_equal(cached(class), 0);
    }
    assert_true(object_cache_is_closed(heaps[0], class));
    assert_int_equal(heaps[0]->in_use_count, 1); /* the last object's */
    free_as(0, last);
    finish();
}

/* An object is cached while another thread's frees bring its slab back, and empty it but for this one. */
static void a_slab_comes_back_with_a_cached_object(void **state) {
    (void)state;
    if (!any_is_cached()) skip();
    void *objects[CACHED_SLABS * OBJECT_CACHE_CAPACITY], *last = fill_cached(objects);
    struct slab *slab = slab_of(objects[0]);
    free_as(0, objects[0]);
    for (unsigned i = 1; i < OBJECT_CACHE_CAPACITY; i++) free_as(1, objects[i]);
    assert_true(slab_is_reopening(slab));
    walk_all();
    for (unsigned i = 0; i < 1000 && slab->state == FULL; i++) heap_maintain(heaps[0]);
    assert_int_equal(slab->state, PARTIAL);
    walk_all();
    heap_collect(heaps[0], COLLECT_ALL);
    assert_int_equal(slab->state, EMPTY);
    walk_all();
    for (unsigned i = OBJECT_CACHE_CAPACITY; i < CACHED_SLABS * OBJECT_CACHE_CAPACITY; i++) free_as(0, objects[i]);
    free_as(0, last);
    finish();
}

/* What came by the cross list ends with its slab's origin, which no list begins with. */
static void no_list_ends_with_a_slab_of_before(void **state) {
    (void)state;
    if (!any_is_cached()) skip();
    void *objects[CACHED_SLABS * OBJECT_CACHE_CAPACITY], *current[OBJECT_CACHE_CAPACITY];
    current[0] = fill_cached(objects);
    struct free_target *local = &heaps[0]->local[size_class_of(CACHE_ROOM)];
    for (unsigned i = 1; i < OBJECT_CACHE_CAPACITY; i++) current[i] = allocate_as(0, CACHE_ROOM);
    free_as(1, current[0]);
    current[0] = allocate_as(0, CACHE_ROOM);
    assert_ptr_equal(local->first, LINK_END);
    void *last = allocate_as(0, CACHE_ROOM); /* of another slab */
    assert_int_equal(slab_of(current[0])->state, FULL);
    walk_all();
    free_as(0, objects[0]);
    assert_ptr_equal(local->first, objects[0]);
    walk_all();
    for (unsigned i = 0; i < OBJECT_CACHE_CAPACITY; i++) free_as(1, current[i]);
    for (unsigned i = 1; i < CACHED_SLABS * OBJECT_CACHE_CAPACITY; i++) free_as(0, objects[i]);
    free_as(0, last);
    finish();
}

/* They spend the same budget, but keep no slab from becoming empty that is not current anyway. */
static void the_current_slab_s_objects_are_not_cached(void **state) {
    (void)state;
    enum { SIZE = GRANULE_SIZE / JW_CACHED_SLAB_OBJECTS };
    if (SIZE > FRONTEND_MAX || !any_is_cached()) skip();
    start();
    heaps[0]->maintenance_ticks = 0; /* or a refill to come collects */
    void *objects[JW_CACHED_SLAB_OBJECTS];
    for (unsigned i = 0; i < JW_CACHED_SLAB_OBJECTS; i++) objects[i] = allocate_as(0, SIZE);
    const struct slab *slab = slab_of(objects[0]);
    for (unsigned i = 0; i < JW_CACHED_SLAB_OBJECTS; i++) {
        free_as(0, objects[i]);
        assert_int_equal(slab->state, CURRENT);
        walk_all();
    }
    assert_false(heaps[0]->cache_states & (cache_halved(slab->class) | cache_closed(slab->class)));
    for (unsigned i = JW_CACHED_SLAB_OBJECTS; i-- > 0;) assert_ptr_equal(allocate_as(0, SIZE), objects[i]);
    for (unsigned i = 0; i < JW_CACHED_SLAB_OBJECTS; i++) free_as(0, objects[i]);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_list_ends_with_a_slab_of_before),
        cmocka_unit_test(objects_of_full_slabs_are_cached),
        cmocka_unit_test(the_current_slab_s_objects_are_not_cached),
        cmocka_unit_test(a_thread_that_only_frees_caches_nothing),
        cmocka_unit_test(a_slab_comes_back_with_a_cached_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
