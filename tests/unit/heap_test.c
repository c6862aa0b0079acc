/* heap_test.c - heaps, one thread playing several. */
#include "heap_players.h"

#include <pthread.h>

enum { OBJECTS = 3000, STEPS = 60000, WALK_PERIOD = 50 };

static void anyone_frees_anything(void **state) {
    (void)state;
    static struct {
        char *address;
        size_t size;
    } objects[OBJECTS];
    start();
    options.pool_min = 2;
    uint64_t randomness = 1;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned at = (unsigned)random_below(&randomness, step / 10000 % 2 ? OBJECTS / 8 : OBJECTS);
        unsigned who = (unsigned)random_below(&randomness, HEAPS);
        if (objects[at].address) {
            CHECK(pattern_holds(objects[at].address, objects[at].size, at));
            free_as(who, objects[at].address);
            objects[at].address = NULL;
        } else {
            size_t size = 1 + (size_t)random_below(&randomness, random_below(&randomness, 4) ? 64 : FRONTEND_MAX);
            objects[at].address = allocate_as(who, size);
            objects[at].size = size;
            pattern_fill(objects[at].address, size, at);
        }
        if (step % WALK_PERIOD == 0) walk_all();
    }
    for (unsigned at = 0; at < OBJECTS; at++)
        if (objects[at].address) free_as(at % HEAPS, objects[at].address);
    walk_all();
    finish();
}

enum { SMALL = 224, LOOSE = 2048 }; /* none of the first goes loose, some of the second do */
static void *filled[1 << JW_GRANULE_SHIFT];

/* Fills one slab of heap 0 and begins the next: the first is full then. Returns how many objects that has. */
static unsigned fill_a_slab(void) {
    unsigned capacity = size_class_capacity(size_class_of(SMALL));
    for (unsigned i = 0; i <= capacity; i++) filled[i] = allocate_as(0, SMALL);
    assert_int_equal(slab_of(filled[0])->state, FULL);
    assert_ptr_equal(slab_of(filled[0]), slab_of(filled[capacity - 1]));
    assert_int_equal(slab_of(filled[capacity])->state, CURRENT);
    walk_all();
    return capacity;
}

static void free_filled(unsigned first, unsigned end, unsigned who) {
    for (unsigned i = first; i < end; i++) free_as(who, filled[i]);
}

static void a_full_slab_returns_after_a_cross_free(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_a_slab();
    struct slab *full = slab_of(filled[0]);
    free_as(1, filled[2]);
    free_as(2, filled[4]);
    assert_int_equal(heaps[0]->returned, record_id(full));
    assert_int_equal(slab_returned(record_id(full)), 0);
    walk_all();
    void *rest[1 << JW_GRANULE_SHIFT];
    for (unsigned i = 0; i + 1 < capacity; i++) rest[i] = allocate_as(0, SMALL); /* the current one fills up */
    void *again = allocate_as(0, SMALL), *other = allocate_as(0, SMALL);
    assert_true((again == filled[2] && other == filled[4]) || (again == filled[4] && other == filled[2]));
    assert_int_equal(heaps[0]->in_use_count, 2);
    walk_all();
    for (unsigned i = 0; i + 1 < capacity; i++) free_as(0, rest[i]);
    free_filled(0, capacity + 1, 0);
    finish();
}

static void an_own_free_opens_a_full_slab(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_a_slab();
    struct slab *full = slab_of(filled[0]);
    free_as(0, filled[0]);
    assert_int_equal(full->state, PARTIAL);
    assert_int_equal(slab_out(full), capacity - 1);
    assert_int_equal(heaps[0]->returned, 0);
    walk_all();
    free_filled(1, capacity + 1, 0);
    assert_int_equal(full->state, EMPTY);
    finish();
}

/* Such a thread never runs out of objects, and looks at what others have returned all the same. */
static void what_is_freed_last_is_given_out_next(void **state) {
    (void)state;
    if (JW_SECURE) skip();
    start();
    unsigned capacity = fill_a_slab();
    const struct slab *full = slab_of(filled[0]);
    free_filled(0, capacity, 1);
    assert_true(slab_is_on_its_way(full));
    uint32_t before = heaps[0]->refills;
    enum { TIDY_PERIOD = 16 };
    for (unsigned i = 0; i < (TIDY_PERIOD + 1) * JW_LOCAL_FREES; i++) {
        free_as(0, filled[capacity]);
        assert_ptr_equal(allocate_as(0, SMALL), filled[capacity]);
    }
    assert_int_equal(heaps[0]->refills - before, TIDY_PERIOD + 1);
    assert_int_equal(full->state, EMPTY);
    walk_all();
    free_as(0, filled[capacity]);
    finish();
}

/* Where malloc would have to look for a slab, the one that has an object again is at hand. */
static void a_full_slab_takes_over(void **state) {
    (void)state;
    start();
    heaps[0]->refills = 0; /* now and then none does */
    unsigned capacity = fill_a_slab();
    void *rest[1 << JW_GRANULE_SHIFT];
    for (unsigned i = 0; i + 1 < capacity; i++) rest[i] = allocate_as(0, SMALL);
    heaps[0]->refills = 0; /* or one of those to come tidies */
    for (unsigned i = 0; i < 10; i++) {
        void **object = &filled[i % 2 ? capacity : 0]; /* of one slab and of the other, in turn */
        free_as(0, *object);
        assert_int_equal(slab_of(*object)->state, CURRENT);
        assert_int_equal(slab_of(filled[i % 2 ? 0 : capacity])->state, FULL);
        walk_all();
        assert_ptr_equal(allocate_as(0, SMALL), *object);
    }
    free_as(0, filled[0]);
    free_as(0, filled[capacity]); /* malloc has an object */
    assert_int_equal(slab_of(filled[capacity])->state, PARTIAL);
    walk_all();
    free_filled(1, capacity, 0);
    for (unsigned i = 0; i + 1 < capacity; i++) free_as(0, rest[i]);
    finish();
}

/* Though free and malloc in turn need no list, what others have emptied is looked at. */
static void free_and_malloc_leave_no_slab_behind(size_t size) {
    start();
    unsigned capacity = size_class_capacity(size_class_of(size)), count = 3 * capacity;
    void *objects[3 << (JW_GRANULE_SHIFT - 7)], *elsewhere = allocate_as(0, 16);
    for (unsigned i = 0; i < count; i++) objects[i] = allocate_as(0, size);
    assert_int_equal(heaps[0]->in_use_count, 4);
    for (unsigned i = 0; i < capacity; i++) free_as(1, objects[i]); /* all of a full slab */
    free_as(1, elsewhere);                                          /* and of a current one of another class */
    for (unsigned i = 0; i < 500000 && heaps[0]->in_use_count > 2; i++) {
        void **object = &objects[i % 2 ? capacity : count - 1]; /* of one slab and of the other, in turn */
        free_as(0, *object);
        *object = allocate_as(0, size);
    }
    assert_int_equal(heaps[0]->in_use_count, 2);
    walk_all();
    for (unsigned i = capacity; i < count; i++) free_as(0, objects[i]);
    finish();
}

static unsigned waiting_to_be_taken_back(void) {
    unsigned count = 0;
    for (granule_id id = heaps[0]->brought; id; id = slab_returned(id)) count++;
    return count;
}

/* No malloc waits until hundreds are looked at. */
static void returned_slabs_come_back_a_few_at_a_time(void **state) {
    (void)state;
    start();
    enum { MANY = 20 };
    unsigned capacity = size_class_capacity(size_class_of(SMALL)), count = MANY * capacity + 1;
    static void *objects[MANY << (JW_GRANULE_SHIFT - 7)];
    for (unsigned i = 0; i < count; i++) objects[i] = allocate_as(0, SMALL);
    for (unsigned i = 0; i < count; i += capacity) free_as(1, objects[i]);
    assert_int_equal(heaps[0]->brought, 0);
    for (unsigned left = MANY + 1, i = 0; left > 0; i++) { /* the current one, too */
        assert_true(i < MANY);
        void *other = allocate_as(0, 16 << i % 6); /* a class that has to look for a slab */
        unsigned now = waiting_to_be_taken_back();
        assert_true(left - now <= 8); /* four, and as many more where it tidies */
        left = now;
        walk_all();
        free_as(0, other);
    }
    for (unsigned i = 0; i < count; i++)
        if (i % capacity) free_as(0, objects[i]);
    finish();
}

static void taking_over_leaves_no_slab_behind(void **state) {
    (void)state;
    free_and_malloc_leave_no_slab_behind(SMALL);
    free_and_malloc_leave_no_slab_behind(LOOSE);
}

/* Another thread has cleared the mark, and the slab is on its way while its owner frees into it to the last object. */
static void own_frees_meet_a_returning_slab(void **state) {
    (void)state;
    for (unsigned remote = 1; remote < size_class_capacity(size_class_of(SMALL)); remote++) {
        start();
        unsigned capacity = fill_a_slab();
        struct slab *full = slab_of(filled[0]);
        free_filled(0, remote, 1);
        assert_int_equal(full->state, FULL);
        free_as(0, filled[remote]);
        assert_int_equal(full->state, remote + 1 < capacity ? PARTIAL : RETURNING);
        walk_all();
        free_filled(remote + 1, capacity, 0);
        assert_true(slab_is_on_its_way(full));
        walk_all();
        heap_tidy(heaps[0], TIDY_CURRENT);
        assert_int_equal(full->state, EMPTY);
        walk_all();
        free_as(0, filled[capacity]);
        finish();
    }
}

/* Slabs emptied by others alone are found by their counts. */
static void counts_tell_of_empty_slabs(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_a_slab();
    free_as(0, filled[0]); /* partial */
    free_filled(1, capacity + 1, 1);
    assert_int_equal(heaps[0]->in_use_count, 2);
    heap_tidy(heaps[0], TIDY_ALL);
    assert_int_equal(heaps[0]->in_use_count, 0); /* the current one, too */
    assert_int_equal(heaps[0]->pool.count, 2);
    walk_all();
    finish();
}

enum { SLABS = 40 };

static void the_pool_keeps_to_its_watermark(void **state) {
    (void)state;
    static void *objects[SLABS][GRANULE_SIZE / SMALL];
    unsigned capacity = GRANULE_SIZE / SMALL;
    for (unsigned percent = 0; percent <= 100; percent += 25) {
        start();
        options.pool_min = 3;
        options.pool_percent = percent;
        options.pool_total = 0;
        for (unsigned i = 0; i < SLABS; i++)
            for (unsigned j = 0; j < capacity; j++) objects[i][j] = allocate_as(0, SMALL);
        unsigned most = 0;
        for (unsigned i = 0; i < SLABS; i++) {
            unsigned before = heaps[0]->pool.count;
            for (unsigned j = 0; j < capacity; j++) free_as(0, objects[i][j]);
            if (heaps[0]->pool.count > most) most = heaps[0]->pool.count;
            assert_true(heaps[0]->pool.count <= 3 + heaps[0]->in_use_count * percent / 100);
            assert_true(heaps[0]->pool.count + 1 >= before); /* no free gives back more than two */
        }
        assert_true(most >= 3 && (percent < 50 || most > 3));
        walk_all();
        finish();
    }
}

/* The program's first write brings the page. */
static void a_fresh_slab_is_not_touched(void **state) {
    (void)state;
    start();
    char *first = allocate_as(0, 16);
    for (unsigned i = 0; i < GRANULE_SIZE && !JW_FILL && !JW_SECURE; i++) assert_int_equal(first[i], 0);
    walk_all();
    char *second = allocate_as(0, 16);
    assert_ptr_equal(slab_of(second), slab_of(first));
    walk_all();
    free_as(1, first);
    free_as(0, second);
    finish();
}

static void an_empty_slab_serves_any_class(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_a_slab();
    struct slab *slab = slab_of(filled[0]);
    free_filled(0, capacity, 0);
    assert_ptr_equal(heaps[0]->pool.first, slab);
    void *other = allocate_as(0, 16);
    assert_ptr_equal(slab_of(other), slab);
    assert_true(pool_is_empty(&heaps[0]->pool));
    walk_all();
    free_as(0, other);
    free_as(0, filled[capacity]);
    finish();
}

static void a_heap_handed_over_keeps_its_objects(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_a_slab();
    for (unsigned i = 0; i <= capacity; i++) pattern_fill(filled[i], SMALL, i);
    uint32_t count = heap_count(), resting = heap_resting_count();
    heap_retire(heaps[0]);
    assert_int_equal(heap_resting_count(), resting + 1);
    free_filled(0, 2, 1); /* into a heap without a thread */
    struct heap *adopted = heap_take();
    assert_ptr_equal(adopted, heaps[0]);
    assert_int_equal(heap_count(), count);
    walk_all();
    for (unsigned i = 2; i <= capacity; i++) assert_true(pattern_holds(filled[i], SMALL, i));
    free_filled(2, capacity + 1, 0);
    finish();
}

static void *leave_objects(void *argument) {
    (void)argument;
    for (unsigned i = 0; i < 100; i++) {
        filled[i] = jw_malloc(SMALL);
        pattern_fill(filled[i], SMALL, i);
    }
    struct heap *mine = thread.heap;
    sim_thread_exit();
    CHECK(thread.heap == &no_heap && heap_thread_has_ended());
    uint32_t count = heap_count();
    void *late[50]; /* in some later destructor */
    for (unsigned i = 0; i < 50; i++) late[i] = jw_malloc(i * 100);
    for (unsigned i = 0; i < 50; i++) jw_free(late[i]);
    CHECK(heap_count() == count && thread.heap == &no_heap);
    return mine;
}

static void *use_mid_objects(void *argument) {
    (void)argument;
    void *object = jw_malloc(FRONTEND_MAX + 1), *again;
    struct heap *mine = thread.heap;
    CHECK(mine != &no_heap && atomic_load(&mine->thread) != 0);
    jw_free(object);
    again = jw_malloc(FRONTEND_MAX + 1);
    jw_free(again);
    CHECK(object == again && mine->in_use_count == 0);
    sim_thread_exit();
    return mine;
}

static void a_thread_of_mid_objects_only_holds_them(void **state) {
    (void)state;
    start();
    pthread_t thread;
    void *ended;
    CHECK(pthread_create(&thread, NULL, use_mid_objects, NULL) == 0);
    pthread_join(thread, &ended);
    const struct mid_hold *holds = ((struct heap *)ended)->holds;
    for (unsigned i = 0; i < MID_HOLDS; i++) assert_true(!holds[i].loose && holds[i].held == 0);
    thrift_purge();
    assert_int_equal(root_count(), 0);
    finish();
}

static void a_round_drains_the_heaps_of_ended_threads(void **state) {
    (void)state;
    start();
    pthread_t thread;
    void *ended;
    CHECK(pthread_create(&thread, NULL, leave_objects, NULL) == 0);
    pthread_join(thread, &ended);
    struct heap *heap = ended;
    assert_int_equal(heap_resting_count(), 1);
    thrift_purge();
    walk_heap(heap);
    assert_true(heap->in_use_count > 0 && pool_is_empty(&heap->pool));
    for (unsigned i = 0; i < 100; i++) {
        assert_true(pattern_holds(filled[i], SMALL, i));
        free_as(0, filled[i]);
    }
    thrift_purge();
    assert_int_equal(heap_resting_count(), 1);
    assert_int_equal(heap->in_use_count, 0);
    assert_true(pool_is_empty(&heap->pool));
    assert_int_equal(root_count(), 0);
    finish();
}

static void no_memory_gives_null(void **state) {
    (void)state;
    start();
    sim_fail_after(0);
    assert_null(jw_malloc(16));
    walk_all();
    sim_fail_after(SIM_NEVER);
    free_as(0, allocate_as(0, 16));
    finish();
}

static void free_twice_in_an_empty_slab(void) {
    unsigned capacity = fill_a_slab();
    free_filled(0, capacity, 0);
    free_as(0, filled[0]);
}

static void free_inside(void) {
    free_as(0, (char *)allocate_as(0, SMALL) + 8);
}

static void free_inside_remotely(void) {
    free_as(1, (char *)allocate_as(0, SMALL) + 8);
}

static void free_the_tail(void) {
    unsigned capacity = fill_a_slab();
    free_as(0, slab_origin(slab_of(filled[0])) + 1 + (size_t)capacity * SMALL);
}

static void misuse_is_told(void **state) {
    (void)state;
    start();
    expect_abort(free_twice_in_an_empty_slab, "jwmalloc: double free: address 0x");
    expect_abort(free_inside, "jwmalloc: invalid free: address 0x");
    expect_abort(free_inside_remotely, "jwmalloc: invalid free: address 0x");
    expect_abort(free_the_tail, "jwmalloc: invalid free: address 0x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anyone_frees_anything),
        cmocka_unit_test(a_full_slab_returns_after_a_cross_free),
        cmocka_unit_test(an_own_free_opens_a_full_slab),
        cmocka_unit_test(what_is_freed_last_is_given_out_next),
        cmocka_unit_test(a_full_slab_takes_over),
        cmocka_unit_test(taking_over_leaves_no_slab_behind),
        cmocka_unit_test(returned_slabs_come_back_a_few_at_a_time),
        cmocka_unit_test(own_frees_meet_a_returning_slab),
        cmocka_unit_test(counts_tell_of_empty_slabs),
        cmocka_unit_test(the_pool_keeps_to_its_watermark),
        cmocka_unit_test(a_fresh_slab_is_not_touched),
        cmocka_unit_test(an_empty_slab_serves_any_class),
        cmocka_unit_test(a_heap_handed_over_keeps_its_objects),
        cmocka_unit_test(a_thread_of_mid_objects_only_holds_them),
        cmocka_unit_test(a_round_drains_the_heaps_of_ended_threads),
        cmocka_unit_test(no_memory_gives_null),
        cmocka_unit_test(misuse_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
