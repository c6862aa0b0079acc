/* midend_test.c - mid slabs: their mid_shapes, their three states, and what is told of a wrong free. */
#include <pthread.h>

#include "midend_unit.h"

#include "backend/timed_purge.h"

#define LOCK_BIT 0x80000000u

enum { SMALLEST = 2001, THREADS = 4, OBJECTS = 64, STEPS = 20000 };

static void shapes_keep_their_bounds(void **state) {
    (void)state;
    start();
    assert_true(mid_class_count >= 4 && mid_class_count <= CLASSES);
    for (unsigned class = 0; class < mid_class_count; class ++) {
        const struct mid_shape *shape = &mid_shapes[class];
        uint32_t bytes = shape->weight << JW_GRANULE_SHIFT;
        assert_true(class == 0 || shape->size > mid_shapes[class - 1].size);
        assert_true(shape->size % 256 == 0 && shape->size < BACKEND_MIN);
        assert_true(shape->count == bytes / shape->size && shape->count >= 2 && shape->count <= MOST_OBJECTS);
        assert_true(shape->weight >= 2 && weight_round_up(shape->weight) == shape->weight);
    }
}

static void sizes_get_the_smallest_class(void **state) {
    (void)state;
    start();
    for (size_t size = SMALLEST; size < BACKEND_MIN; size++) {
        unsigned class = 0;
        while (class < mid_class_count && mid_shapes[class].size < size) class ++;
        assert_int_equal(mid_class_of(size), class);
    }
}

static void addresses_divide_exactly(void **state) {
    (void)state;
    for (unsigned class = 0; class < CLASSES; class ++) {
        start();
        if (class >= mid_class_count) return;
        char *first = midend_allocate(NULL, mid_shapes[class].size, 1);
        granule_id slab = granule_of(first);
        uint32_t bytes = mid_shapes[class].weight << JW_GRANULE_SHIFT;
        for (uint32_t offset = 0; offset < bytes; offset++) {
            unsigned found;
            uint32_t bit = 0, index = offset / mid_shapes[class].size;
            bool object = offset % mid_shapes[class].size == 0 && index < mid_shapes[class].count;
            CHECK(mid_slab_of(first + offset, &found, &bit) == (object ? slab : 0));
            CHECK(!object || (found == class && bit == 1u << index));
            CHECK(midend_usable_size(caches, first + offset) == (offset == 0 ? mid_shapes[class].size : 0));
        }
        midend_free(NULL, first);
        finish();
    }
}

static void objects_are_aligned(void **state) {
    (void)state;
    start();
    for (size_t alignment = 16; alignment <= GRANULE_SIZE; alignment *= 2) {
        for (size_t size = SMALLEST; size < BACKEND_MIN; size += 239) {
            void *object = midend_allocate(NULL, size, alignment);
            bool possible = false;
            for (unsigned class = mid_class_of(size); class < mid_class_count; class ++)
                possible |= mid_shapes[class].size % alignment == 0;
            assert_int_equal(object != NULL, possible);
            if (!object) continue;
            assert_true((uintptr_t)object % alignment == 0 && midend_usable_size(caches, object) >= size);
            midend_free(NULL, object);
            assert_int_equal(midend_usable_size(caches, object), 0);
        }
    }
    finish();
}

/* Full, partial, empty; kept as its class's only one; given back by the round. */
static void slabs_go_through_their_states(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        char *objects[MOST_OBJECTS];
        unsigned count = mid_shapes[class].count;
        uint32_t all = mid_all_free(class), used = 0;
        for (unsigned i = 0; i < count; i++) {
            objects[i] = midend_allocate(NULL, mid_shapes[class].size, 1);
            pattern_fill(objects[i], mid_shapes[class].size, i);
            used |= 1u << (uint32_t)(objects[i] - objects[0]) / mid_shapes[class].size;
            uint32_t rest = all & ~used;
            assert_int_equal(word(granule_of(objects[0])), rest ? MID_LISTED | rest : 0);
            assert_int_equal(nest_count(&mid_nest, class), rest ? 1 : 0);
        }
        granule_id slab = granule_of(objects[0]);
        assert_int_equal(used, all);
        char *other = midend_allocate(NULL, mid_shapes[class].size, 1); /* the full slab has left the Nest */
        assert_true(granule_of(other) != slab && mid_slab_counts[class] == 2);
        for (unsigned i = 0; i < count; i++) {
            assert_true(pattern_holds(objects[i], mid_shapes[class].size, i));
            midend_free(NULL, objects[i]);
            if (i + 1 < count) assert_int_equal(nest_count(&mid_nest, class), 2);
        }
        assert_int_equal(mid_slab_counts[class], 1); /* empty, and not the only one: gone at once */
        midend_free(NULL, other);
        assert_int_equal(mid_slab_counts[class], 1); /* empty, and the only one: kept */
        assert_int_equal(word(granule_of(other)), MID_LISTED | all);
        assert_ptr_equal(midend_allocate(NULL, mid_shapes[class].size, 1), other);
        midend_round(false);
        assert_int_equal(mid_slab_counts[class], 1); /* in use */
        midend_free(NULL, other);
        midend_round(false);
        assert_int_equal(mid_slab_counts[class], 0);
        assert_int_equal(nest_count(&mid_nest, class), 0);
    }
    finish();
}

/* Held; exhausted and left as full; let go of partial, and empty. */
static void slabs_are_held(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        char *objects[MOST_OBJECTS];
        unsigned count = mid_shapes[class].count;
        uint32_t all = mid_all_free(class), used = 0;
        for (unsigned i = 0; i < count; i++) {
            objects[i] = allocate_held(mid_shapes[class].size);
            pattern_fill(objects[i], mid_shapes[class].size, i);
            used |= 1u << (uint32_t)(objects[i] - objects[0]) / mid_shapes[class].size;
            assert_int_equal(word(granule_of(objects[0])), MID_HELD | MID_LISTED | (all & ~used));
            assert_int_equal(nest_count(&mid_nest, class), 0);
        }
        granule_id slab = granule_of(objects[0]);
        assert_int_equal(used, all);
        char *other = allocate_held(mid_shapes[class].size);
        assert_int_equal(word(slab), 0);
        assert_true(word(granule_of(other)) & MID_HELD);
        leave_no_room();
        free_held(objects[0]); /* as another thread's: placed */
        assert_int_equal(nest_count(&mid_nest, class), 1);
        free_held(other);
        assert_int_equal(word(granule_of(other)), MID_HELD | MID_LISTED | all);
        assert_ptr_equal(allocate_held(mid_shapes[class].size), other);
        midend_free(NULL, other); /* as another thread does: a held slab is not given back */
        midend_round(false);
        assert_int_equal(mid_slab_counts[class], 2);
        midend_drain(caches);
        assert_int_equal(mid_slab_counts[class], 1); /* it was empty, and not the only one */
        assert_ptr_equal(allocate_held(mid_shapes[class].size), objects[0]);
        leave_no_room();
        free_held(objects[0]);
        for (unsigned i = 1; i < count; i++) {
            assert_true(pattern_holds(objects[i], mid_shapes[class].size, i));
            midend_free(NULL, objects[i]);
        }
        midend_drain(caches);
        assert_int_equal(mid_slab_counts[class], 1); /* empty, and the only one: kept */
        midend_round(false);
        assert_int_equal(mid_slab_counts[class], 0);
    }
    finish();
}

/* Which addresses the hit path of free takes for objects of a held slab, and that it leaves the others alone. */
static void held_addresses_divide_exactly(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        char *first = allocate_held(mid_shapes[class].size);
        table_word *of = &mid_state_at(granule_of(first))->raw;
        uint32_t bytes = mid_shapes[class].weight << JW_GRANULE_SHIFT, all = mid_all_free(class);
        leave_no_room();
        for (uint32_t offset = 0; offset < bytes; offset++) {
            *of = MID_HELD | MID_LISTED; /* all are in use */
            uint32_t index = offset / mid_shapes[class].size;
            bool object = offset % mid_shapes[class].size == 0 && index < mid_shapes[class].count;
            CHECK(takes(first + offset, leaf_of(first + offset)) == object);
            CHECK(*of == (MID_HELD | MID_LISTED | (object ? 1u << index : 0)));
        }
        void *alias = (void *)((uintptr_t)first ^ (uintptr_t)1 << (sizeof(void *) * 8 - 1)); /* a foreign one */
        CHECK(!takes(first - 1, leaf_of(first)) && !takes(first + bytes, leaf_of(first)));
        CHECK(!takes(NULL, leaf_none()) && !takes(alias, leaf_of(first)));
        *of = MID_HELD | MID_LISTED | all;
        CHECK(!takes(first, leaf_of(first))); /* free already */
        midend_drain(caches);
    }
    finish();
}

static void a_busy_nest_defers_the_slab(void **state) {
    (void)state;
    start();
    char *objects[MOST_OBJECTS];
    fill_slab(objects, 0);
    mid_nest.classes[0].summary = ~(uintptr_t)0;
    mid_nest.classes[0].list |= LOCK_BIT;
    midend_free(NULL, objects[0]);
    midend_free(NULL, objects[1]);
    mid_nest.classes[0].summary = 0;
    mid_nest.classes[0].list = 0;
    assert_int_equal(nest_count(&mid_nest, 0), 0);
    assert_ptr_equal(midend_allocate(NULL, mid_shapes[0].size, 1), objects[0]); /* found there, before any new slab */
    assert_int_equal(nest_count(&mid_nest, 0), 1);
    assert_false(mid_slab_place_deferred());
    assert_int_equal(mid_slab_counts[0], 1);
    midend_free(NULL, objects[0]);
    for (unsigned i = 2; i < mid_shapes[0].count; i++) midend_free(NULL, objects[i]);
    finish();
}

static bool place_by_round(void) {
    midend_round(false);
    return true;
}

static bool place_by_purge(void) {
    return midend_purge(&(struct purge){.until = NO_LIMIT});
}

static bool place_by_hand(void) {
    return mid_slab_place_deferred();
}

/* Each of them comes back, and an empty one goes. */
static void check_deferred_slabs(bool (*place)(void)) {
    enum { SLABS = 5 };
    static char *objects[SLABS][MOST_OBJECTS];
    start();
    for (unsigned i = 0; i < SLABS; i++) fill_slab(objects[i], 0);
    mid_nest.classes[0].summary = ~(uintptr_t)0;
    mid_nest.classes[0].list |= LOCK_BIT;
    for (unsigned i = 0; i < SLABS; i++) midend_free(NULL, objects[i][0]);
    mid_nest.classes[0].summary = 0;
    mid_nest.classes[0].list = 0;
    for (unsigned j = 1; j < mid_shapes[0].count; j++) midend_free(NULL, objects[2][j]); /* empty when it is placed */
    assert_true(place());
    assert_false(mid_slab_place_deferred());
    assert_true(nest_count(&mid_nest, 0) >= SLABS - 1);
    for (unsigned i = 0; i < SLABS; i++)
        for (unsigned j = 1; j < mid_shapes[0].count && i != 2; j++) {
            CHECK(pattern_holds(objects[i][j], mid_shapes[0].size, j));
            midend_free(NULL, objects[i][j]);
        }
    finish();
}

static void many_deferred_slabs(void **state) {
    (void)state;
    check_deferred_slabs(place_by_hand);
    check_deferred_slabs(place_by_round);
    check_deferred_slabs(place_by_purge);
}

static void free_twice(void) {
    void *object = midend_allocate(NULL, mid_shapes[0].size, 1);
    midend_free(NULL, object);
    midend_free(NULL, object);
}

static void free_held_twice(void) {
    void *object = allocate_held(mid_shapes[0].size);
    leave_no_room();
    free_held(object);
    free_held(object);
}

static void free_held_here_and_there(void) {
    void *object = allocate_held(mid_shapes[0].size);
    leave_no_room();
    free_held(object);
    midend_free(NULL, object);
}

static void free_held_there_and_here(void) {
    void *object = allocate_held(mid_shapes[0].size);
    midend_free(NULL, object);
    free_held(object);
}

static void free_inside_held(void) {
    free_held((char *)allocate_held(mid_shapes[1].size) + 16);
}

static void free_inside(void) {
    midend_free(NULL, (char *)midend_allocate(NULL, mid_shapes[1].size, 1) + 16);
}

static bool has_tail(unsigned class) {
    return (mid_shapes[class].weight << JW_GRANULE_SHIFT) % mid_shapes[class].size != 0;
}

static void free_the_tail(void) {
    unsigned class = 0;
    while (class < mid_class_count && !has_tail(class)) class ++;
    if (class == mid_class_count) misuse(INVALID_FREE, NULL, 0);
    midend_free(NULL, (char *)midend_allocate(NULL, mid_shapes[class].size, 1) +
                          (size_t)mid_shapes[class].count * mid_shapes[class].size);
}

static void misuse_is_told(void **state) {
    (void)state;
    start();
    expect_abort(free_twice, "jwmalloc: double free: address 0x");
    expect_abort(free_held_twice, "jwmalloc: double free: address 0x");
    expect_abort(free_held_here_and_there, "jwmalloc: double free: address 0x");
    expect_abort(free_held_there_and_here, "jwmalloc: double free: address 0x");
    expect_abort(free_inside_held, "jwmalloc: invalid free: address 0x");
    expect_abort(free_inside, "jwmalloc: invalid free: address 0x");
    expect_abort(free_the_tail, "jwmalloc: invalid free: address 0x");
}

static void no_memory_gives_null(void **state) {
    (void)state;
    start();
    sim_fail_after(0);
    assert_null(midend_allocate(NULL, SMALLEST, 1));
    sim_fail_after(SIM_NEVER);
    assert_null(midend_allocate(NULL, mid_shapes[mid_class_count - 1].size + 1, 1));
    finish();
}

/* Slots of objects that all threads share: the thread that exchanges one out has it. */
static _Atomic(uintptr_t) shared[OBJECTS];

static void check_and_free(struct mid_cache *held, void *object) {
    CHECK(pattern_holds(object, midend_usable_size(caches, object), (uintptr_t)object));
    if (!held || !mid_cache_free(held, object, leaf_of(object))) midend_free(NULL, object);
}

/* Every other thread holds slabs, and lets go of them now and then. */
static void *churn(void *seed) {
    uint64_t randomness = (uintptr_t)seed;
    struct mid_cache own[MID_CACHES] = {0}, *held = (uintptr_t)seed % 2 ? own : NULL;
    for (unsigned step = 0; step < STEPS; step++) {
        size_t size = SMALLEST + (size_t)random_below(&randomness, mid_shapes[1].size * 2 - SMALLEST);
        void *object = held ? midend_allocate_cached(held, size) : NULL;
        if (!object) object = midend_allocate(held, size, 1);
        CHECK(object && midend_usable_size(caches, object) >= size);
        pattern_fill(object, midend_usable_size(caches, object), (uintptr_t)object);
        uintptr_t old = atomic_exchange(&shared[random_below(&randomness, OBJECTS)], (uintptr_t)object);
        if (old) check_and_free(held, (void *)old);
        if (step % 1024 == 0) midend_drain(own);
    }
    midend_drain(own);
    return NULL;
}

static _Atomic(bool) churning;

/* Every other one is a purge. Pages that it gives back while a thread has the object lose their pattern. */
static void *run_rounds(void *unused) {
    for (unsigned i = 0; atomic_load(&churning); i++) midend_round(i % 2);
    return unused;
}

static void threads_share_slabs(void **state) {
    (void)state;
    start();
    pthread_t threads[THREADS], rounds;
    atomic_store(&churning, true);
    CHECK(pthread_create(&rounds, NULL, run_rounds, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    atomic_store(&churning, false);
    pthread_join(rounds, NULL);
    for (unsigned i = 0; i < OBJECTS; i++)
        if (shared[i]) check_and_free(NULL, (void *)shared[i]);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_keep_their_bounds),      cmocka_unit_test(sizes_get_the_smallest_class),
        cmocka_unit_test(addresses_divide_exactly),      cmocka_unit_test(objects_are_aligned),
        cmocka_unit_test(slabs_go_through_their_states), cmocka_unit_test(slabs_are_held),
        cmocka_unit_test(held_addresses_divide_exactly), cmocka_unit_test(a_busy_nest_defers_the_slab),
        cmocka_unit_test(many_deferred_slabs),           cmocka_unit_test(misuse_is_told),
        cmocka_unit_test(no_memory_gives_null),          cmocka_unit_test(threads_share_slabs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
