/* heap_test.c - heaps, one thread playing several. */
#include "core/object_size.h"
#include "core/route.h"
#include "core/zeroed.h"
#include "frontend/heap_collect.h"
#include "frontend/slab_cross.h"
#include "frontend/slab_links.h"
#include "frontend/slab_lists.h"
#include "heap_players.h"
#include "platform/assert.h"

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

enum { SMALL = 224, CACHE_ROOM = 2048 }; /* none of the first is cached, some of the second do */
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

static unsigned frees_until_reopen_of(size_t size) {
    return size_classes[size_class_of(size)].frees_until_reopen;
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
    assert_int_equal(heaps[0]->reopened.first, record_id(full));
    assert_int_equal(range_next(record_id(full)), 0);
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

static void own_frees_open_a_full_slab(void **state) {
    (void)state;
    start();
    unsigned capacity = fill_a_slab(), until_reopen = frees_until_reopen_of(SMALL);
    struct slab *full = slab_of(filled[0]);
    assert_true(until_reopen >= 1 && until_reopen < capacity);
    for (unsigned i = 0; i < until_reopen; i++) {
        assert_int_equal(full->state, FULL);
        assert_int_equal(slab_out(full), capacity - i);
        walk_all();
        free_as(0, filled[i]);
    }
    assert_int_equal(full->state, PARTIAL);
    assert_int_equal(slab_out(full), capacity - until_reopen);
    assert_int_equal(heaps[0]->reopened.first, 0);
    walk_all();
    free_filled(until_reopen, capacity + 1, 0);
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
    assert_true(slab_is_reopening(full));
    enum { MANY_BUDGETS = 256 }; /* more than any policy may let pass before the thread looks */
    for (unsigned i = 0; i < MANY_BUDGETS * JW_LOCAL_FREES && full->state != EMPTY; i++) {
        free_as(0, filled[capacity]);
        assert_ptr_equal(allocate_as(0, SMALL), filled[capacity]);
    }
    assert_int_equal(full->state, EMPTY);
    walk_all();
    free_as(0, filled[capacity]);
    finish();
}

static void free_some(void **objects, unsigned count) {
    for (unsigned i = 0; i < count; i++) free_as(0, objects[i]);
}

static void allocate_some(void **objects, unsigned count, size_t size) {
    for (unsigned i = 0; i < count; i++) objects[i] = allocate_as(0, size);
}

/* When malloc needs a slab, it takes the one that has objects again. */
static void a_full_slab_takes_over(void **state) {
    (void)state;
    start();
    heaps[0]->maintenance_ticks = 0; /* now and then none does */
    unsigned capacity = fill_a_slab(), until_reopen = frees_until_reopen_of(SMALL);
    void *rest[1 << JW_GRANULE_SHIFT] = {filled[capacity]};
    allocate_some(rest + 1, capacity - 1, SMALL);
    struct slab *slabs[] = {slab_of(filled[0]), slab_of(rest[0])};
    heaps[0]->maintenance_ticks = 0; /* or a refill to come collects */
    for (unsigned i = 0; i < 10; i++) {
        void **objects = i % 2 ? rest : filled; /* of one slab and of the other, in turn */
        free_some(objects, until_reopen);
        assert_int_equal(slabs[i % 2]->state, CURRENT);
        assert_int_equal(slabs[1 - i % 2]->state, FULL);
        walk_all();
        allocate_some(objects, until_reopen, SMALL);
        for (unsigned j = 0; j < until_reopen; j++) assert_ptr_equal(slab_of(objects[j]), slabs[i % 2]);
    }
    free_some(filled, until_reopen);
    free_some(rest, until_reopen); /* malloc has an object */
    assert_int_equal(slabs[1]->state, PARTIAL);
    walk_all();
    free_filled(until_reopen, capacity, 0);
    free_some(rest + until_reopen, capacity - until_reopen);
    finish();
}

/* Though free and malloc in turn need no list, what others have emptied is looked at. */
static void free_and_malloc_leave_no_slab_behind(size_t size) {
    start();
    unsigned capacity = size_class_capacity(size_class_of(size)), count = 3 * capacity,
             until_reopen = frees_until_reopen_of(size);
    void *objects[3 << (JW_GRANULE_SHIFT - 7)], *elsewhere = allocate_as(0, 16);
    for (unsigned i = 0; i < count; i++) objects[i] = allocate_as(0, size);
    assert_int_equal(heaps[0]->in_use_count, 4);
    for (unsigned i = 0; i < capacity; i++) free_as(1, objects[i]); /* all of a full slab */
    free_as(1, elsewhere);                                          /* and of a current one of another class */
    for (unsigned i = 0; i < 500000 && heaps[0]->in_use_count > 2; i++) {
        void **some = &objects[i % 2 ? capacity : count - until_reopen]; /* of one slab and of the other, in turn */
        free_some(some, until_reopen);
        allocate_some(some, until_reopen, size);
    }
    assert_int_equal(heaps[0]->in_use_count, 2);
    walk_all();
    for (unsigned i = capacity; i < count; i++) free_as(0, objects[i]);
    finish();
}

static void taking_over_leaves_no_slab_behind(void **state) {
    (void)state;
    free_and_malloc_leave_no_slab_behind(SMALL);
    free_and_malloc_leave_no_slab_behind(CACHE_ROOM);
}

/* Another thread has cleared the mark, and the slab is reopening while its owner frees into it. A free that opens the
 * slab may also be the last object's. Then the slab is REOPENING, and taken back at once: it has been pushed. */
static void own_frees_meet_a_returning_slab(void **state) {
    (void)state;
    for (unsigned remote = 1; remote < size_class_capacity(size_class_of(SMALL)); remote++) {
        start();
        unsigned capacity = fill_a_slab();
        struct slab *full = slab_of(filled[0]);
        free_filled(0, remote, 1);
        assert_int_equal(full->state, FULL);
        for (unsigned i = remote, until_reopen = frees_until_reopen_of(SMALL); i < capacity; i++) {
            free_as(0, filled[i]);
            enum slab_state opened = remote + until_reopen < capacity ? PARTIAL : EMPTY;
            assert_int_equal(full->state, i + 1 < remote + until_reopen ? FULL : opened);
            walk_all();
        }
        assert_int_equal(slab_is_reopening(full), full->state != EMPTY);
        walk_all();
        heap_collect(heaps[0], COLLECT_SOME);
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
    free_filled(0, frees_until_reopen_of(SMALL), 0); /* partial */
    free_filled(frees_until_reopen_of(SMALL), capacity + 1, 1);
    assert_int_equal(heaps[0]->in_use_count, 2);
    heap_collect(heaps[0], COLLECT_ALL);
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
            assert_true(heaps[0]->pool.count + GIVE_AT_ONCE > before); /* no free gives back more, and it adds one */
        }
        assert_true(most >= 3 && (percent < 50 || most > 3));
        walk_all();
        finish();
    }
}

/* A slab is linked by its first refill. malloc clears the link of the object that it gives out. */
static void a_fresh_slab_is_linked_at_once(void **state) {
    (void)state;
    start();
    char *first = allocate_as(0, 16);
    assert_true(slab_of(first)->linked > 1);
    for (unsigned i = 0; i < 16 && !JW_FILL && !JW_SECURE; i++) assert_int_equal(first[i], 0);
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
    assert_int_equal(heaps[0]->pool.slabs.first, record_id(slab));
    void *other = allocate_as(0, 16);
    assert_ptr_equal(slab_of(other), slab);
    assert_true(pool_is_empty(&heaps[0]->pool));
    walk_all();
    free_as(0, other);
    free_as(0, filled[capacity]);
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

/* Where there is no memory for another slab, what has come back to full ones is given out at once. */
static void full_slabs_wait_for_nothing_without_memory(void **state) {
    (void)state;
    static void *objects[ROOT_GRANULES << (JW_GRANULE_SHIFT - 7)];
    enum { STEP = 251 }; /* objects: of no slab so many come back that it is reopened */
    start();
    heaps[0]->maintenance_ticks = 0;
    unsigned count = 0, back = 0;
    while (count < 10 * STEP) objects[count++] = allocate_as(0, SMALL);
    sim_fail_after(0);
    for (unsigned i = 0; i < count; i += STEP, back++) free_as(0, objects[i]);
    assert_int_equal(slab_of(objects[0])->state, FULL);
    unsigned more = count - back; /* in their places: what is live */
    for (unsigned i = 0; i < count; i++)
        if (i % STEP) objects[i - i / STEP - 1] = objects[i];
    for (count = more; (objects[count] = jw_malloc(SMALL)); count++) {
    }
    walk_all();
    for (unsigned i = 0; i < count; i++) assert_true(link_is_end(slab_of(objects[i])->freed.first));
    assert_null(jw_malloc(SMALL));
    walk_all();
    sim_fail_after(SIM_NEVER);
    assert_true(back >= 10);
    free_some(objects, count);
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

static void break_an_invariant(void) {
    invariant_broken("one == two", "some.c", 123);
}

static void misuse_is_told(void **state) {
    (void)state;
    start();
    expect_abort(break_an_invariant, "jwmalloc: invariant broken: one == two (some.c:123)\n");
    expect_abort(free_twice_in_an_empty_slab, "jwmalloc: double free: address 0x");
    expect_abort(free_inside, "jwmalloc: invalid free: address 0x");
    expect_abort(free_inside_remotely, "jwmalloc: invalid free: address 0x");
    expect_abort(free_the_tail, "jwmalloc: invalid free: address 0x");
}

/* The option init: what a large or a huge object holds, though its memory was used before. */
static void new_objects_hold_what_was_chosen(void **state) {
    (void)state;
    start();
    for (unsigned i = 0; i < 4; i++) {
        size_t size = i / 2 ? ROOT_SIZE + 1 : 4 * GRANULE_SIZE, dirty_bytes;
        options.init = i % 2 ? INIT_PATTERN : INIT_ZERO;
        heap_drain_own();
        thrift_purge();
        for (unsigned used = 0; used < 2; used++) { /* fresh memory comes first */
            char *object = allocate_above_small(size, 1, &dirty_bytes);
            if (!used && options.init == INIT_ZERO) assert_int_equal(dirty_bytes, 0);
            assert_int_equal(object[0], i % 2 ? (char)0xab : 0);
            assert_int_equal(memcmp(object, object + 1, size - 1), 0);
            jw_free(memset(object, 1, size));
        }
    }
    options.init = INIT_NONE;
    finish();
}

/* All that the program may use of it, whatever was there before. */
static void zeroed_objects_are_zero_to_their_ends(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 100, FRONTEND_MAX + 1, BACKEND_MIN - 1, BACKEND_MIN, 5 * GRANULE_SIZE + 1};
    start();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *object = allocate_zeroed(sizes[i]);
        size_t size = object_size(object);
        assert_true(size >= sizes[i] && bytes_are_zero(object, size));
        jw_free(memset(object, 1, size));
        char *again = allocate_zeroed(sizes[i]);
        assert_true(bytes_are_zero(again, object_size(again)));
        jw_free(again);
    }
    finish();
}

/* What a free object may link to: an object of its slab, or an end. Not to another class, nor into an object. */
static void links_lead_to_objects_of_the_class(void **state) {
    (void)state;
    start();
    char *one = allocate_as(0, SMALL), *other = allocate_as(0, SMALL), *larger = allocate_as(0, 2 * SMALL);
    char *origin = slab_origin(slab_of(one));
    assert_true(slab_may_list(one, other) && slab_may_list(one, LINK_END) && slab_may_list(one, origin));
    assert_false(slab_may_list(one, NULL) || slab_may_list(one, larger) || slab_may_list(one, other + 2));
    assert_false(slab_may_list(one, other - 1) || slab_may_list(one, origin + 2));
    struct slab *slab = slab_of(one);
    uintptr_t key = slab->key;
    assert_ptr_equal(heap_of(slab), heaps[0]);
    slab_clear_key(slab); /* as of a granule that has just ceased to be a slab */
    assert_ptr_equal(heap_of(slab), heap_by_number(0));
    slab->key = key;
    free_as(0, one);
    free_as(0, other);
    free_as(0, larger);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_objects_hold_what_was_chosen),
        cmocka_unit_test(zeroed_objects_are_zero_to_their_ends),
        cmocka_unit_test(anyone_frees_anything),
        cmocka_unit_test(a_full_slab_returns_after_a_cross_free),
        cmocka_unit_test(own_frees_open_a_full_slab),
        cmocka_unit_test(what_is_freed_last_is_given_out_next),
        cmocka_unit_test(a_full_slab_takes_over),
        cmocka_unit_test(taking_over_leaves_no_slab_behind),
        cmocka_unit_test(own_frees_meet_a_returning_slab),
        cmocka_unit_test(counts_tell_of_empty_slabs),
        cmocka_unit_test(the_pool_keeps_to_its_watermark),
        cmocka_unit_test(a_fresh_slab_is_linked_at_once),
        cmocka_unit_test(an_empty_slab_serves_any_class),
        cmocka_unit_test(no_memory_gives_null),
        cmocka_unit_test(full_slabs_wait_for_nothing_without_memory),
        cmocka_unit_test(links_lead_to_objects_of_the_class),
        cmocka_unit_test(misuse_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
