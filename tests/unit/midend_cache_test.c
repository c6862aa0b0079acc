/* midend_cache_test.c - objects of the midend that their last thread keeps to itself. */
#include "midend_cached.h"

#define OTHER_KEY link_key_of(0x123456789abcu) /* not the one that the midend's links have */

/* No word changes; the last comes first; what is given out has no link. */
static void cached_objects_wait_outside_their_slabs(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        unsigned most = mid_shapes[class].cache_room;
        char *objects[MANY];
        allocate_many(objects, class);
        assert_int_equal(cache_of(class)->room, most);
        assert_true(most < MANY);
        for (unsigned i = 0; i < most; i++) {
            char *object = objects[some(i)];
            uint32_t before = word_around(object);
            assert_true(takes(object, leaf_of(object)));
            assert_int_equal(word_around(object), before);
            assert_int_equal(midend_usable_size(caches, object), 0);
            assert_int_equal(cached_in(cache_of(class)), i + 1);
            assert_int_equal(cache_of(class)->room, most - i - 1);
        }
        for (unsigned i = most; i-- > 0;) {
            char *object = objects[some(i)];
            assert_ptr_equal(allocate_held(mid_shapes[class].size), object);
            assert_true(*(uint64_t *)(void *)object == 0 &&
                        midend_usable_size(caches, object) == mid_shapes[class].size);
            pattern_fill(object, mid_shapes[class].size, some(i));
        }
        for (unsigned i = 0; i < MANY; i++) CHECK(pattern_holds(objects[i], mid_shapes[class].size, i));
        free_many(objects);
        midend_drain(caches);
    }
    finish();
}

/* Which addresses of a slab that is not held may be cached: where an object in use begins. */
static void addresses_divide_exactly(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count && mid_shapes[class].cache_room; class ++) {
        char *objects[MANY], *first = NULL;
        allocate_many(objects, class);
        granule_id slab = granule_of(objects[0]);
        first = granule_address(slab);
        CHECK(word(slab) == 0);
        uint32_t bytes = mid_shapes[class].weight << JW_GRANULE_SHIFT;
        for (uint32_t offset = 0; offset + sizeof(link_word) <= bytes; offset++) {
            bool object =
                offset % mid_shapes[class].size == 0 && offset / mid_shapes[class].size < mid_shapes[class].count;
            struct mid_cache before = *cache_of(class);
            memset(first + offset, 0, sizeof(link_word));
            CHECK(takes(first + offset, leaf_of(first + offset)) == object);
            *cache_of(class) = before;
        }
        void *alias = (void *)((uintptr_t)first ^ (uintptr_t)1 << (sizeof(void *) * 8 - 1)); /* a foreign one */
        CHECK(!takes(alias, leaf_of(first)) && !takes(NULL, leaf_none()));
        memset(first, 0, sizeof(link_word));
        mid_state_at(slab)->raw = bit_of(first);
        CHECK(!takes(first, leaf_of(first))); /* free already */
        mid_state_at(slab)->raw = 0;
        midend_drain(caches);
        free_many(objects);
        midend_round(false);
    }
    finish();
}

static bool is_cached(const void *object) {
    return mid_is_cached(caches, object) && !is_set(object);
}

/* A thread that only frees caches a few at most; each object is in the cache or free in its slab, never both. */
static void what_is_freed_is_cached_or_free(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        char *objects[MANY];
        allocate_many(objects, class);
        for (unsigned i = 0; i < MANY / 2; i++) {
            char *object = objects[some(i)];
            free_held(object);
            objects[some(i)] = NULL;
            CHECK(is_cached(object) != is_set(object) && midend_usable_size(caches, object) == 0);
            CHECK(cached_in(cache_of(class)) <= mid_shapes[class].cache_room);
        }
        free_many(objects);
        midend_drain(caches);
        assert_int_equal(cached_in(cache_of(class)), 0);
        midend_round(true);
        assert_int_equal(mid_slab_counts[class], 0);
    }
    finish();
}

/* However often the heap looks before: a thread that allocates nothing more keeps nothing. */
static void idle_threads_keep_nothing(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count; class ++) {
        char *objects[MANY];
        allocate_many(objects, class);
        free_held(objects[0]);
        for (unsigned i = 0; i < MANY; i++) midend_collect(caches);
        CHECK(is_set(objects[0]) && !cache_of(class)->held_bytes && !cache_of(class)->cached);
        objects[0] = NULL;
        free_many(objects);
        midend_round(false);
    }
    finish();
}

/* Frees that find room count as misses, too, where the object's first word is like a link. */
static void a_cache_that_misses_drain_has_no_room(void **state) {
    (void)state;
    start();
    char *objects[MANY];
    allocate_many(objects, 0);
    free_held(objects[0]);
    assert_true(is_cached(objects[0]) && cache_of(0)->room == mid_shapes[0].cache_room - 1u && cache_of(0)->room > 0);
    for (unsigned i = 1; i <= MID_MISSES_UNTIL_DRAIN; i++) {
        assert_int_equal(cached_in(cache_of(0)), 1);
        *(uint64_t *)(void *)objects[i] = (uintptr_t)objects[i] ^ OTHER_KEY;
        free_held(objects[i]);
    }
    assert_true(cached_in(cache_of(0)) == 0 && cache_of(0)->room == 0);
    for (unsigned i = MID_MISSES_UNTIL_DRAIN + 1; i < MANY; i++) {
        free_held(objects[i]);
        assert_int_equal(cached_in(cache_of(0)), 0);
    }
    midend_drain(caches);
    finish();
}

/* At the thread's end, when its heap is collected, and when a class of the same cache is asked for. */
static void nothing_stays_cached(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < mid_class_count && mid_shapes[class].cache_room; class ++) {
        for (unsigned other = 0; other < 2; other++) {
            char *first = allocate_held(mid_shapes[class].size), *object = allocate_held(mid_shapes[class].size),
                 *second = NULL;
            unsigned next = class + 1;
            while (next < mid_class_count && cache_of(next) != cache_of(class)) next++;
            free_held(object);
            assert_true(!is_set(object) && cached_in(cache_of(class)) == 1);
            if (other && next < mid_class_count) second = allocate_held(mid_shapes[next].size);
            else midend_drain(caches);
            assert_true(is_set(object) && cached_in(cache_of(class)) == 0 && cache_of(class)->room == 0);
            assert_int_equal(*(uint64_t *)(void *)object, JW_FILL ? 0xdfdfdfdfdfdfdfdfu : 0);
            if (second) midend_free(NULL, second);
            midend_free(NULL, first);
            midend_drain(caches);
        }
        midend_round(false);
        assert_int_equal(mid_slab_counts[class], 0);
    }
    finish();
}

/* What a program writes, or a small object has left in the memory, may look like a link: the object can be freed. */
static void what_looks_like_a_link_is_freed(void **state) {
    (void)state;
    start();
    uint64_t words[] = {~(uint64_t)0, (uint64_t)LINK_MARK << 32, (uintptr_t)1 ^ OTHER_KEY, 0};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        for (unsigned held = 0; held < 2; held++) {
            uint64_t *object = allocate_held(mid_shapes[0].size), *other = allocate_held(mid_shapes[0].size);
            words[sizeof words / sizeof *words - 1] = (uintptr_t)other ^ (uintptr_t)object ^ OTHER_KEY;
            *object = words[i];
            assert_int_equal(midend_usable_size(caches, object), mid_shapes[0].size);
            if (held) free_held(object);
            else midend_free(NULL, object);
            assert_true(is_set(object) && cached_in(cache_of(0)) == 0);
            midend_free(NULL, other);
            midend_drain(caches);
        }
    }
    finish();
}

static void statistics_leave_them_out(void **state) {
    (void)state;
    start();
    struct midend_statistics statistics;
    char *kept = allocate_held(mid_shapes[0].size), *object = allocate_held(mid_shapes[0].size);
    free_held(object);
    midend_statistics(caches, &statistics);
    assert_true(statistics.classes[0].objects == 1 && statistics.in_use == mid_shapes[0].size);
    struct mid_cache others[MID_CACHES] = {0};
    midend_statistics(others, &statistics);
    assert_int_equal(statistics.classes[0].objects, 2);
    midend_free(NULL, kept);
    midend_drain(caches);
    finish();
}

/* A cached object with others behind it. */
static char *cached_object(void) {
    char *objects[MANY];
    allocate_many(objects, 0);
    for (unsigned i = 0; i < mid_shapes[0].cache_room; i++) free_held(objects[i]);
    CHECK(mid_shapes[0].cache_room > 1 && cached_in(cache_of(0)) == mid_shapes[0].cache_room);
    return objects[1];
}

/* A second free changes nothing: the list of the heap that the object names tells that it is free. */
static void expect_suspect(struct mid_cache *freeing, char *object) {
    CHECK(!mid_cache_free(freeing, object, leaf_of(object)));
    CHECK(!midend_free(freeing, object) && !midend_free(NULL, object));
    CHECK(!is_set(object) && mid_is_cached(caches, object) && cached_heap_number(object) == caches[0].heap);
    CHECK(midend_usable_size(caches, object) == 0);
}

static void a_second_free_is_left_to_the_list(void **state) {
    (void)state;
    start();
    struct mid_cache others[MID_CACHES] = {0};
    char *objects[MANY], *taken[2];
    allocate_many(objects, 0);
    for (unsigned i = 0; i < mid_shapes[0].cache_room; i++) free_held(objects[i]);
    for (unsigned i = 0; i < 2; i++) taken[i] = midend_allocate(others, mid_shapes[0].size, 1);
    CHECK(mid_shapes[0].cache_room > 1 && others[0].room > 0);
    for (unsigned i = 0; i < mid_shapes[0].cache_room; i++) {
        expect_suspect(caches, objects[i]);
        expect_suspect(others, objects[i]);
        CHECK(!mid_is_cached(others, objects[i]));
    }
    leave_no_room();
    expect_suspect(caches, objects[0]);
    for (unsigned i = 0; i < 2; i++) midend_free(others, taken[i]);
    for (unsigned i = mid_shapes[0].cache_room; i < MANY; i++) free_held(objects[i]);
    midend_drain(others);
    midend_drain(caches);
    finish();
}

static void free_inside(void) {
    free_held(cached_object() + 16);
}

static void write_to_link(void) {
    *cached_object() ^= 1;
    for (unsigned i = 0; i < MANY; i++) allocate_held(mid_shapes[0].size);
}

static void write_behind_link(void) {
    cached_object()[8] ^= 1;
    for (unsigned i = 0; i < MANY; i++) allocate_held(mid_shapes[0].size);
}

static void write_at_end(void) {
    cached_object()[mid_shapes[0].size - 1] ^= 1;
    midend_drain(caches);
}

static void misuse_is_told(void **state) {
    (void)state;
    start();
    expect_abort(free_inside, "jwmalloc: invalid free: address 0x");
    expect_abort(write_to_link, "jwmalloc: write after free: address 0x");
    expect_abort(write_behind_link, "jwmalloc: write after free: address 0x");
    expect_abort(write_at_end, "jwmalloc: write after free: address 0x");
}

static struct {
    struct mid_cache before, caches[MID_CACHES], after;
} guarded;

/* Beside a heap's caches lies what is not the midend's. */
static void check_guards(void) {
    for (size_t i = 0; i < sizeof guarded.before; i++)
        CHECK(((char *)&guarded.before)[i] == 0x5a && ((char *)&guarded.after)[i] == 0x5a);
}

static void all_caches_and_no_more_are_drained_and_closed(void **state) {
    (void)state;
    start();
    memset(&guarded.before, 0x5a, sizeof guarded.before);
    memset(&guarded.after, 0x5a, sizeof guarded.after);
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned class = 0; class < mid_class_count; class ++) {
            void *object = midend_allocate(guarded.caches, mid_shapes[class].size, 1);
            CHECK(object && midend_free(guarded.caches, object));
        }
        for (unsigned i = 0; i < MID_CACHES; i++) {
            assert_int_not_equal(guarded.caches[i].class_plus_1, 0);
            assert_int_not_equal(guarded.caches[i].held_bytes, 0);
        }
        midend_collect(guarded.caches);
        midend_drain(guarded.caches);
        for (unsigned i = 0; i < MID_CACHES; i++) {
            assert_int_equal(guarded.caches[i].held_bytes, 0);
            assert_null(guarded.caches[i].cached);
        }
        midend_close(guarded.caches);
        for (unsigned i = 0; i < MID_CACHES; i++) assert_int_equal(guarded.caches[i].class_plus_1, 0);
        check_guards();
    }
    finish();
}

/* Behind one thread's caches lie another thread's, which hold slabs and objects. Statistics and rounds of the one leave
 * the other out. */
static void the_caches_next_to_these_are_others(void **state) {
    (void)state;
    static struct mid_cache both[2][MID_CACHES];
    struct midend_statistics all, less;
    unsigned cached = 0;
    start();
    for (unsigned class = 0; class < MID_CACHES; class ++) {
        char *objects[MANY];
        for (unsigned i = 0; i < MANY; i++) CHECK((objects[i] = allocate_held_by(both[1], mid_shapes[class].size)));
        CHECK(mid_cache_free(both[1], objects[0], leaf_of(objects[0])));
        for (unsigned i = 1; i < MANY; i++) CHECK(midend_free(NULL, objects[i]));
    }
    assert_non_null(both[1][0].cached);
    assert_int_not_equal(both[1][0].held_bytes, 0);
    midend_statistics(both[0], &all);
    midend_statistics(both[1], &less);
    for (unsigned class = 0; class < mid_class_count; class ++) {
        assert_true(all.classes[class].objects >= less.classes[class].objects);
        cached += (unsigned)(all.classes[class].objects - less.classes[class].objects);
    }
    for (unsigned i = 0; i < MID_CACHES; i++) cached -= cached_in(&both[1][i]);
    assert_int_equal(cached, 0);
    assert_int_equal(midend_round_of_caches(both[0], false), 0);
    assert_int_equal(midend_round_of_caches(both[1], false), MID_CACHES);
    midend_drain(both[0]);
    assert_non_null(both[1][0].cached);
    midend_drain(both[1]);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_objects_wait_outside_their_slabs),
        cmocka_unit_test(addresses_divide_exactly),
        cmocka_unit_test(what_is_freed_is_cached_or_free),
        cmocka_unit_test(idle_threads_keep_nothing),
        cmocka_unit_test(a_cache_that_misses_drain_has_no_room),
        cmocka_unit_test(nothing_stays_cached),
        cmocka_unit_test(all_caches_and_no_more_are_drained_and_closed),
        cmocka_unit_test(the_caches_next_to_these_are_others),
        cmocka_unit_test(what_looks_like_a_link_is_freed),
        cmocka_unit_test(statistics_leave_them_out),
        cmocka_unit_test(a_second_free_is_left_to_the_list),
        cmocka_unit_test(misuse_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
