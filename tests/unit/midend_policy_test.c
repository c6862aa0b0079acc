/* midend_policy_test.c - what the midend's numbers in config/policy.h decide. The other tests of the midend hold with
 * any policy. */
#include "midend_cached.h"

static void slabs_waste_little(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        const struct mid_shape *shape = &mid_shapes[class];
        uint32_t bytes = shape->weight << JW_GRANULE_SHIFT;
        assert_true(shape->count >= MID_LEAST_OBJECTS);
        assert_true((bytes - shape->count * shape->size) * MID_TAIL_PART <= bytes);
    }
}

/* The least weight of S(3) whose slab has enough objects and a small tail; 0: there is none. */
static uint32_t weight_for(uint32_t size) {
    for (unsigned range_class = 1; range_class < RANGE_CLASSES; range_class++) {
        uint32_t weight = weight_of_class(range_class), bytes = weight << JW_GRANULE_SHIFT, count = bytes / size;
        if (count > MOST_OBJECTS) return 0;
        if (count >= MID_LEAST_OBJECTS && bytes % size * MID_TAIL_PART <= bytes) return weight;
    }
    return 0;
}

/* From the frontend's largest size on, each size of S(3) for which there is a slab; and each size has its class. */
static void each_size_has_the_smallest_slab(void **state) {
    (void)state;
    start();
    unsigned class = 0;
    for (unsigned range_class = 0; weight_of_class(range_class) << UNIT_SHIFT < BACKEND_MIN; range_class++) {
        uint32_t size = weight_of_class(range_class) << UNIT_SHIFT, weight;
        if (size < FRONTEND_MAX) continue;
        if (!(weight = weight_for(size))) {
            if (class == 0) continue;
            break; /* this size and all above are large */
        }
        const struct mid_shape *shape = &mid_shapes[class ++];
        assert_true(class <= mid_class_count);
        assert_int_equal(shape->size, size);
        assert_int_equal(shape->weight, weight);
        assert_int_equal(shape->count, (weight << JW_GRANULE_SHIFT) / size);
        for (uint32_t at = 0; at < shape->count * size; at += size / 2)
            assert_int_equal((uint64_t)at * shape->reciprocal >> 32, at / size);
    }
    assert_int_equal(class, mid_class_count);
    for (uint32_t size = 1, found = 0; size < BACKEND_MIN; size++) {
        while (found < mid_class_count && mid_shapes[found].size < size) found++;
        assert_int_equal(mid_class_index[(size - 1) >> UNIT_SHIFT], found);
    }
}

static void caches_have_a_size_in_bytes(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        size_t most = mid_shapes[class].cache_room, size = mid_shapes[class].size;
        assert_true(most * size <= JW_MID_CACHE_BYTES && (most + 1) * size > JW_MID_CACHE_BYTES);
    }
}

/* Threads that sleep may hold a slab each. The first hold of a cache counts, and the first one after a round. */
static void many_holds_ask_for_a_round(void **state) {
    (void)state;
    enum { ROUNDS = 3 };
    static struct mid_cache cache;
    char *objects[MOST_OBJECTS];
    unsigned asked = 0;
    start();
    granule_id slab = fill_slab(objects, 0);
    reclaimer_take_request();
    for (unsigned i = 0; i < ROUNDS * MID_ROUND_FROM; i++) {
        memset(&cache, 0, sizeof cache);
        mid_cache_open(&cache, 0);
        mid_cache_hold(&cache, slab);
        asked += reclaimer_take_request();
    }
    assert_int_equal(asked, ROUNDS);
    for (unsigned i = 0; i < ROUNDS * MID_ROUND_FROM; i++) {
        mid_cache_open(&cache, i % mid_class_count); /* another class is no new cache */
        mid_cache_hold(&cache, slab);
        assert_false(reclaimer_take_request());
    }
    for (unsigned i = 0; i < ROUNDS * MID_ROUND_FROM; i++) {
        mid_cache_count_next_hold(&cache);
        mid_cache_hold(&cache, slab);
        asked += reclaimer_take_request();
    }
    assert_int_equal(asked, 2 * ROUNDS);
    for (unsigned i = 0; i < mid_shapes[0].count; i++) midend_free(NULL, objects[i]);
    finish();
}

/* Of `all` slabs of a class first a few, then each has a free object, while twice `half` slabs may wait. */
static void free_in_a_patient_wait(unsigned class, unsigned all, unsigned half) {
    enum { FEW = 4 };
    static char *objects[JW_NEST_SLOTS + FEW][MOST_OBJECTS];
    CHECK(all <= JW_NEST_SLOTS + FEW);
    start();
    options.reclaim_start = (size_t)mid_shapes[class].weight * half << JW_GRANULE_SHIFT;
    for (unsigned i = 0; i < all; i++) fill_slab(objects[i], class);
    reclaimer_take_request();
    reclaimer_take_wakeup();
    reclaimer_announce_wait(PATIENT);
    for (unsigned some = FEW; some <= all; some += all - FEW) {
        for (unsigned i = 0; i < MID_ROUND_FROM; i++) {
            for (unsigned j = 0; j < some; j++) midend_free(NULL, objects[j][0]);
            for (unsigned j = 0; j < some; j++) objects[j][0] = midend_allocate(NULL, mid_shapes[class].size, 1);
        }
        assert_true(reclaimer_take_request());
        assert_int_equal(reclaimer_take_wakeup(), some == all);
    }
    reclaimer_announce_wait(0);
    for (unsigned i = 0; i < all; i++)
        for (unsigned j = 0; j < mid_shapes[class].count; j++) midend_free(NULL, objects[i][j]);
    finish();
}

/* In a patient wait the slabs with free objects are compared with what may wait: by their granules. Of more than the
 * Nest's slots have, all slabs of the class count. */
static void few_slabs_end_no_patient_wait(void **state) {
    (void)state;
    free_in_a_patient_wait(0, 20, 4);
    free_in_a_patient_wait(mid_class_count - 1, 20, 4);
    free_in_a_patient_wait(0, JW_NEST_SLOTS + 4, JW_NEST_SLOTS / 2 + 1);
}

/* A round leaves a held slab to its thread once, gives back what the thread has not used until the next one, and then
 * has nothing more to do there. A purge does not wait. */
static void a_round_comes_twice_to_what_is_held(void **state) {
    (void)state;
    for (unsigned now = 0; now < 2; now++) {
        start();
        char *object = allocate_held(mid_shapes[0].size);
        assert_int_equal(midend_round_of_caches(caches, now), !now);
        assert_int_equal(midend_round_of_caches(caches, now), 0);
        assert_int_equal(midend_round_of_caches(caches, now), 0);
        char *other = allocate_held(mid_shapes[0].size);
        assert_int_equal(midend_round_of_caches(caches, now), !now);
        assert_int_equal(midend_round_of_caches(caches, now), 0);
        free_held(object);
        free_held(other);
        midend_drain(caches);
        midend_round(true);
        finish();
    }
    assert_int_equal(midend_round_of_caches(caches, false), 0); /* nothing is held */
}

/* As long as the thread allocates now and then, what finds no room goes to its slab, and the rest stays. */
static void what_finds_no_room_goes_back(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count && mid_shapes[class].cache_room; class ++) {
        unsigned most = mid_shapes[class].cache_room, freed = 0;
        char *objects[MANY];
        allocate_many(objects, class);
        while (freed < most) free_held(objects[some(freed++)]);
        for (unsigned i = 0; i < MID_MISSES_UNTIL_DRAIN - 1; i++) {
            char *object = objects[some(freed++)];
            free_held(object);
            CHECK(is_set(object) && cached_in(cache_of(class)) == most);
        }
        assert_ptr_equal(allocate_held(mid_shapes[class].size), objects[some(most - 1)]);
        assert_int_equal(cache_of(class)->misses_left, MID_MISSES_UNTIL_DRAIN);
        free_held(objects[some(most - 1)]);
        assert_int_equal(cached_in(cache_of(class)), most);
        midend_drain(caches);
        for (unsigned i = 0; i < freed; i++) objects[some(i)] = NULL;
        free_many(objects);
        midend_round(false);
    }
    finish();
}

/* A thread that only frees keeps nothing, and there is no room until it allocates from a slab again. */
static void frees_until_reopen_end(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count && mid_shapes[class].cache_room; class ++) {
        unsigned most = mid_shapes[class].cache_room, freed = 0;
        char *objects[MANY];
        allocate_many(objects, class);
        while (freed < most + MID_MISSES_UNTIL_DRAIN) free_held(objects[freed++]);
        CHECK(cached_in(cache_of(class)) == 0 && cache_of(class)->room == 0);
        while (freed < MANY) free_held(objects[freed++]);
        assert_int_equal(cached_in(cache_of(class)), 0);
        midend_round(true);
        assert_true(mid_slab_counts[class] <= 1); /* the one that is held */
        for (unsigned i = 0; i <= mid_shapes[class].count; i++) objects[i] = allocate_held(mid_shapes[class].size);
        assert_int_equal(cache_of(class)->room, most);
        for (unsigned i = 0; i <= mid_shapes[class].count; i++) midend_free(NULL, objects[i]);
        midend_drain(caches);
        midend_round(false);
        assert_int_equal(mid_slab_counts[class], 0);
    }
    finish();
}

/* Each would drive out what the other keeps. */
static void classes_that_take_turns_make_no_room(void **state) {
    (void)state;
    start();
    if (mid_class_count <= MID_CACHES) return;
    unsigned other = 1;
    while (other < mid_class_count && cache_of(other) != cache_of(0)) other++;
    CHECK(other < mid_class_count);
    for (unsigned i = 0; i < MANY; i++) {
        unsigned class = i % 2 * other;
        char *object = allocate_held(mid_shapes[class].size);
        assert_true(cache_of(class)->class_plus_1 == class + 1 && cache_of(class)->room == 0);
        free_held(object);
        assert_true(is_set(object));
    }
    midend_drain(caches);
    finish();
}

/* Programs often use such sizes in turn. */
static void neighbours_and_doubles_have_caches_of_their_own(void **state) {
    (void)state;
    start();
    for (unsigned class = 1; class < mid_class_count; class ++)
        for (unsigned other = 0; other < class; other++) {
            size_t size = mid_shapes[class].size, less = mid_shapes[other].size;
            if (other == class - 1 || size == 2 * less || size == 4 * less)
                assert_true(cache_of(class) != cache_of(other));
        }
    finish();
}

/* What the class is allocated from between two looks stays; else it goes at the second one. */
static void what_is_idle_goes(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count && mid_shapes[class].cache_room; class ++) {
        char *objects[MANY], *other;
        allocate_many(objects, class);
        other = allocate_held(mid_shapes[class].size);
        granule_id slab = granule_of(cache_of(class)->start);
        free_held(objects[0]);
        for (unsigned i = 0; i < 4; i++) {
            midend_collect(caches);
            CHECK(cached_in(cache_of(class)) == 1 && word(slab) & MID_HELD);
            assert_ptr_equal(allocate_held(mid_shapes[class].size), objects[0]);
            free_held(objects[0]);
        }
        midend_collect(caches);
        assert_int_equal(cached_in(cache_of(class)), 1);
        midend_collect(caches);
        CHECK(cached_in(cache_of(class)) == 0 && is_set(objects[0]) && !(word(slab) & MID_HELD));
        assert_int_equal(cache_of(class)->room, 0);
        objects[0] = other;
        free_many(objects);
        midend_round(false);
    }
    finish();
}

/* Frees are no uses: an idle thread keeps its cache no longer than others. */
static void idle_threads_drain_their_caches(void **state) {
    (void)state;
    start();
    char *objects[MANY];
    allocate_many(objects, 0);
    midend_collect(caches);
    struct mid_cache *cache = cache_of(0);
    unsigned freed = 0, most = mid_shapes[0].cache_room;
    for (unsigned i = 0; freed < most + MID_MISSES_UNTIL_DRAIN; i++) {
        char *object = objects[some(i)];
        if ((uintptr_t)object - (uintptr_t)cache->start < cache->held_bytes) continue;
        free_held(object);
        objects[some(i)] = NULL;
        assert_int_equal(cached_in(cache), ++freed == most + MID_MISSES_UNTIL_DRAIN ? 0 : freed < most ? freed : most);
    }
    char *first = allocate_held(mid_shapes[0].size), *second = allocate_held(mid_shapes[0].size);
    midend_collect(caches);
    free_held(first);
    assert_int_equal(cached_in(cache), 1);
    midend_collect(caches);
    assert_int_equal(cached_in(cache), 0);
    midend_free(NULL, second);
    free_many(objects);
    midend_round(false);
    finish();
}

/* No range becomes free, and yet a thread comes. */
static void many_free_objects_ask_for_a_round(void **state) {
    (void)state;
    start();
    static char *objects[MID_ROUND_FROM][MOST_OBJECTS];
    for (unsigned i = 0; i < MID_ROUND_FROM; i++) fill_slab(objects[i], mid_class_count - 1);
    for (unsigned i = 0; i < MID_ROUND_FROM; i++) {
        assert_null(sim_take_thread());
        midend_free(NULL, objects[i][1]);
    }
    assert_non_null(sim_take_thread());
    reclaimer_forget();
    for (unsigned i = 0; i < MID_ROUND_FROM; i++)
        for (unsigned j = 0; j < mid_shapes[mid_class_count - 1].count; j++)
            if (j != 1) midend_free(NULL, objects[i][j]);
    finish();
}

/* They wait for the next burst up to a limit, until a round; at the peak, or without the thread, only one does. */
static void use_in_bursts(unsigned class, bool thread) {
    static char *objects[(3 + (JW_MID_KEPT_BYTES >> JW_GRANULE_SHIFT) / 2) * MOST_OBJECTS];
    unsigned most = 1 + (JW_MID_KEPT_BYTES >> JW_GRANULE_SHIFT) / mid_shapes[class].weight;
    unsigned count = (most + 2) * mid_shapes[class].count;
    for (unsigned burst = 0; burst < 2; burst++) {
        for (unsigned i = 0; i < count; i++) objects[i] = midend_allocate(NULL, mid_shapes[class].size, 1);
        bool at_peak = thrift_is_at_peak() && burst == 0;
        if (!at_peak) thrift_forget_peak();
        for (unsigned i = 0; i < count; i++) midend_free(NULL, objects[i]);
        assert_int_equal(mid_slab_counts[class], at_peak || !thread ? 1 : most);
    }
}

static void slabs_of_a_burst_stay(void **state) {
    (void)state;
    for (int thread = THREAD_FALSE; thread <= THREAD_TRUE; thread++) {
        start();
        options.reclaim_thread = thread;
        for (unsigned class = 0; class < mid_class_count; class ++) {
            use_in_bursts(class, thread == THREAD_TRUE);
            midend_round(false);
            assert_int_equal(mid_slab_counts[class], 0);
        }
        finish();
    }
}

/* The Nest's list may be long while most of its slots are empty again: its slabs go, too. */
static void slabs_of_a_long_list_go(void **state) {
    (void)state;
    enum { SLABS = 3 * JW_NEST_SLOTS };
    static char *objects[SLABS][MOST_OBJECTS];
    start();
    for (unsigned i = 0; i < SLABS; i++) fill_slab(objects[i], 0);
    for (unsigned i = 0; i < SLABS; i++) midend_free(NULL, objects[i][0]);
    for (unsigned i = 0; i < SLABS; i++) {
        thrift_forget_peak();
        /* without the thread only one stays */
        options.reclaim_thread = i < JW_NEST_SLOTS ? THREAD_FALSE : THREAD_TRUE;
        for (unsigned j = 1; j < mid_shapes[0].count; j++) midend_free(NULL, objects[i][j]);
    }
    assert_true(mid_slab_counts[0] <= 1 + (JW_MID_KEPT_BYTES >> JW_GRANULE_SHIFT) / mid_shapes[0].weight);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slabs_waste_little),
        cmocka_unit_test(each_size_has_the_smallest_slab),
        cmocka_unit_test(caches_have_a_size_in_bytes),
        cmocka_unit_test(many_free_objects_ask_for_a_round),
        cmocka_unit_test(many_holds_ask_for_a_round),
        cmocka_unit_test(few_slabs_end_no_patient_wait),
        cmocka_unit_test(a_round_comes_twice_to_what_is_held),
        cmocka_unit_test(what_finds_no_room_goes_back),
        cmocka_unit_test(frees_until_reopen_end),
        cmocka_unit_test(classes_that_take_turns_make_no_room),
        cmocka_unit_test(neighbours_and_doubles_have_caches_of_their_own),
        cmocka_unit_test(what_is_idle_goes),
        cmocka_unit_test(slabs_of_a_burst_stay),
        cmocka_unit_test(slabs_of_a_long_list_go),
        cmocka_unit_test(idle_threads_drain_their_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
