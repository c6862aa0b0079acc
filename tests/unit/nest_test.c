/* nest_test.c - Nest: slots first, then the list; what a busy list does; and ranges that wander between threads. */
#include "unit.h"

#include <pthread.h>

#include "backend/nest.h"

enum { NESTS_TESTED = 3, WANDERERS = 200, CROWD = 3, THREADS = 4, MOVES = 200000, CLASS = 5 };
#define LOCK_BIT 0x80000000u

static struct nest nests[NESTS_TESTED];

/* Ids of granules that do not exist: Nest needs only their words. */
static void start(void) {
    start_backend();
    memset(nests, 0, sizeof nests);
}

static struct leaf_word leaf_in(unsigned nest) {
    return leaf_free(nest);
}

static bool place(unsigned nest, granule_id range) {
    leaf_set(range, leaf_in(nest));
    return nest_place(&nests[nest], CLASS, range);
}

static void lock_by_hand(void) {
    atomic_fetch_or(&nests[0].classes[CLASS].list, LOCK_BIT);
}

static void unlock_by_hand(void) {
    atomic_fetch_and(&nests[0].classes[CLASS].list, ~LOCK_BIT);
}

static void slots_fill_first_then_the_list(void **state) {
    (void)state;
    start();
    enum { EXTRA = 10 };
    assert_int_equal(nest_take(&nests[0], CLASS), 0);
    for (granule_id id = 1; id <= JW_NEST_SLOTS + EXTRA; id++) {
        assert_true(place(0, id));
        assert_int_equal(nest_count(&nests[0], CLASS), id);
        assert_int_equal(nest_has_more(&nests[0], CLASS, 1), id > 1);
        assert_int_equal(nest_has_more(&nests[0], CLASS, 8), id > 8);
        assert_int_equal((nests[0].classes[CLASS].list & ID_MASK) != 0, id > JW_NEST_SLOTS);
    }
    bool seen[JW_NEST_SLOTS + EXTRA + 1] = {false};
    for (unsigned left = JW_NEST_SLOTS + EXTRA; left > 0; left--) {
        granule_id id = nest_take(&nests[0], CLASS);
        assert_true(id >= 1 && id <= JW_NEST_SLOTS + EXTRA && !seen[id]);
        assert_int_equal(nest_has_more(&nests[0], CLASS, 1), left - 1 > 1);
        seen[id] = true;
        assert_int_equal(nest_count(&nests[0], CLASS), left - 1);
    }
    assert_int_equal(nest_take(&nests[0], CLASS), 0);
    assert_int_equal(nests[0].classes[CLASS].list, 0);
}

/* The list may be long while most slots are empty again. */
static void a_list_counts_as_many(void **state) {
    (void)state;
    start();
    for (granule_id id = 1; id <= JW_NEST_SLOTS + 3; id++) assert_true(place(0, id));
    for (granule_id id = 1; id <= JW_NEST_SLOTS; id++) assert_true(nest_take_this(&nests[0], CLASS, id, leaf_in(0)));
    assert_int_equal(nest_count(&nests[0], CLASS), 3);
    assert_true(nest_has_more(&nests[0], CLASS, 8));
    for (unsigned left = 2; left > 0; left--) {
        assert_true(nest_take(&nests[0], CLASS) > 0);
        assert_int_equal(nest_has_more(&nests[0], CLASS, 8), left > 1);
        assert_true(nest_has_more(&nests[0], CLASS, 0));
        assert_int_equal(nest_has_more(&nests[0], CLASS, 1), left > 1);
    }
}

static void a_given_range_is_taken_from_anywhere(void **state) {
    (void)state;
    start();
    enum { ALL = 200 };
    granule_id waiting[ALL];
    for (unsigned seed = 0; seed < 20; seed++) {
        uint64_t randomness = seed;
        for (granule_id id = 1; id <= ALL; id++) {
            assert_true(place(0, id));
            waiting[id - 1] = id;
        }
        for (unsigned left = ALL; left > 0;) {
            unsigned at = (unsigned)random_below(&randomness, left);
            granule_id id = waiting[at];
            assert_true(nest_take_this(&nests[0], CLASS, id, leaf_in(0)));
            assert_false(nest_take_this(&nests[0], CLASS, id, leaf_in(0)));
            waiting[at] = waiting[--left];
            assert_int_equal(nest_count(&nests[0], CLASS), left);
        }
        assert_int_equal(nest_take(&nests[0], CLASS), 0);
    }
}

static void a_range_elsewhere_is_not_there(void **state) {
    (void)state;
    start();
    for (granule_id id = 1; id <= 2 * JW_NEST_SLOTS; id++) assert_true(place(0, id));
    for (granule_id id = 1; id <= 2 * JW_NEST_SLOTS; id++) {
        assert_false(nest_take_this(&nests[1], CLASS, id, leaf_in(1)));
        assert_false(nest_take_this(&nests[0], CLASS + 1, id, leaf_mid(0)));
    }
    assert_int_equal(nest_count(&nests[0], CLASS), 2 * JW_NEST_SLOTS);
    assert_int_equal(nests[1].classes[CLASS].list, 0); /* unlocked again */
}

/* No thread waits for a lock. */
static void a_busy_list_sends_everyone_elsewhere(void **state) {
    (void)state;
    start();
    granule_id last = JW_NEST_SLOTS + 2;
    for (granule_id id = 1; id <= last; id++) assert_true(place(0, id));
    lock_by_hand();
    assert_false(place(0, last + 1));
    assert_int_equal(nest_count(&nests[0], CLASS), JW_NEST_SLOTS);
    assert_false(nest_take_this(&nests[0], CLASS, last, leaf_in(0)));
    for (unsigned left = JW_NEST_SLOTS; left > 0; left--) assert_true(nest_take(&nests[0], CLASS) <= JW_NEST_SLOTS);
    assert_int_equal(nest_take(&nests[0], CLASS), 0);
    assert_int_equal(nest_next_class(&nests[0], 0), CLASS); /* the hint stays: there is something */
    assert_true(place(0, last + 1));                        /* a slot is free again */
    unlock_by_hand();
    assert_true(nest_take_this(&nests[0], CLASS, last - 1, leaf_in(0)));
    assert_int_equal(nest_take(&nests[0], CLASS), last + 1);
    assert_int_equal(nest_take(&nests[0], CLASS), last);
    assert_int_equal(nest_take(&nests[0], CLASS), 0);
}

static void hints_lead_to_the_next_class(void **state) {
    (void)state;
    start();
    assert_int_equal(nest_next_class(&nests[0], 0), RANGE_CLASSES);
    for (unsigned class = 0; class < RANGE_CLASSES; class ++) assert_true(nest_place(&nests[0], class, class + 1));
    for (unsigned class = 0; class < RANGE_CLASSES; class ++) {
        assert_int_equal(nest_next_class(&nests[0], 0), class);
        assert_int_equal(nest_next_class(&nests[0], class), class);
        assert_int_equal(nest_take(&nests[0], class), class + 1);
        assert_int_equal(nest_take(&nests[0], class), 0); /* clears the hint */
        assert_int_equal(nest_next_class(&nests[0], class), class + 1 < RANGE_CLASSES ? class + 1 : RANGE_CLASSES);
    }
}

/* A range may be taken by its own words before its placer sets the hint. A thread that finds none clears the hint. */
static void a_late_hint_does_not_cost_the_slot(void **state) {
    (void)state;
    start();
    assert_true(place(0, 1));
    uintptr_t hint = nests[0].classes[CLASS].summary;
    assert_true(nest_take_this(&nests[0], CLASS, 1, leaf_in(0)));
    nests[0].classes[CLASS].summary |= hint;
    assert_int_equal(nest_take(&nests[0], CLASS), 0);
    assert_int_equal(nest_count(&nests[0], CLASS), 0);
    assert_int_equal(nest_take(&nests[0], CLASS), 0);
    assert_int_equal(nest_next_class(&nests[0], 0), RANGE_CLASSES);
}

static void locks_around_fork(void **state) {
    (void)state;
    start();
    for (granule_id id = 1; id <= JW_NEST_SLOTS + 1; id++) assert_true(place(0, id));
    uint64_t locked = nest_lock_all(&nests[0]);
    assert_true(locked == ~(uint64_t)0 >> (64 - RANGE_CLASSES));
    assert_false(place(0, JW_NEST_SLOTS + 2));
    nest_unlock_all(&nests[0], locked);
    assert_true(place(0, JW_NEST_SLOTS + 2));
    assert_int_equal(nest_count(&nests[0], CLASS), JW_NEST_SLOTS + 2);
}

static unsigned wanderers;                      /* many: lists, too; a few: everyone is after the same slots */
static _Atomic(unsigned) holder[WANDERERS + 1]; /* thread that has the range, 0: in a nest */

/* Takes any range, or a given one by its own words, and puts it into another nest. */
static void *wander(void *argument) {
    unsigned self = (unsigned)(uintptr_t)argument;
    uint64_t randomness = self;
    for (unsigned move = 0; move < MOVES; move++) {
        unsigned from = (unsigned)random_below(&randomness, NESTS_TESTED);
        granule_id id = 1 + (granule_id)random_below(&randomness, wanderers);
        if (random_below(&randomness, 2)) {
            if (!nest_take_this(&nests[from], CLASS, id, leaf_in(from))) continue;
        } else if (!(id = nest_take(&nests[from], CLASS))) continue;
        CHECK(atomic_exchange(&holder[id], self) == 0);
        unsigned to = (unsigned)random_below(&randomness, NESTS_TESTED);
        CHECK(atomic_exchange(&holder[id], 0) == self);
        while (!place(to, id)) to = (to + 1) % NESTS_TESTED;
    }
    return NULL;
}

static void let_wander(unsigned number) {
    start();
    wanderers = number;
    for (granule_id id = 1; id <= wanderers; id++) assert_true(place(0, id));
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, wander, (void *)(i + 1)) == 0);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    bool seen[WANDERERS + 1] = {false};
    unsigned count = 0;
    for (unsigned nest = 0; nest < NESTS_TESTED; nest++) {
        for (granule_id id; (id = nest_take(&nests[nest], CLASS)); count++) {
            assert_false(seen[id]);
            seen[id] = true;
        }
        assert_int_equal(nest_count(&nests[nest], CLASS), 0);
        assert_int_equal(nest_next_class(&nests[nest], 0), RANGE_CLASSES);
    }
    assert_int_equal(count, wanderers);
}

static void none_is_lost_and_none_is_doubled(void **state) {
    (void)state;
    let_wander(WANDERERS);
    let_wander(CROWD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_fill_first_then_the_list),       cmocka_unit_test(a_list_counts_as_many),
        cmocka_unit_test(a_given_range_is_taken_from_anywhere), cmocka_unit_test(a_range_elsewhere_is_not_there),
        cmocka_unit_test(a_busy_list_sends_everyone_elsewhere), cmocka_unit_test(hints_lead_to_the_next_class),
        cmocka_unit_test(a_late_hint_does_not_cost_the_slot),   cmocka_unit_test(locks_around_fork),
        cmocka_unit_test(none_is_lost_and_none_is_doubled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
