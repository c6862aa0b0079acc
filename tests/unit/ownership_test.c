/* ownership_test.c - the protocol between Nest and Knit: every rollback, forced by what another thread does between
 * two steps.
 *
 * The linker wraps knit_acquire and knit_release, so that a test can act just before them: that is the other thread.
 * And it wraps nest_place, which fails when its slots are full and its list is busy.
 */
#include "unit.h"

#include "backend/backend.h"

enum { FOUR = 3 }; /* class of weight 4 */

enum slot_code __real_knit_acquire(granule_id range);
enum slot_code __wrap_knit_acquire(granule_id range);
bool __real_knit_release(granule_id range, enum slot_code state);
bool __wrap_knit_release(granule_id range, enum slot_code state);

bool __real_nest_place(struct nest *nest, unsigned class, granule_id range);
bool __wrap_nest_place(struct nest *nest, unsigned class, granule_id range);

static bool busy[NESTS];

bool __wrap_nest_place(struct nest *nest, unsigned class, granule_id range) {
    return !busy[nest - ownership.nests] && __real_nest_place(nest, class, range);
}

/* Run once, before the next knit_acquire or knit_release of this range. */
static void (*before_acquire)(void), (*before_release)(void);
static granule_id watched;

static void run_once(void (**hook)(void), granule_id range) {
    void (*now)(void) = *hook;
    if (!now || range != watched) return;
    *hook = NULL;
    now();
}

enum slot_code __wrap_knit_acquire(granule_id range) {
    run_once(&before_acquire, range);
    return __real_knit_acquire(range);
}

bool __wrap_knit_release(granule_id range, enum slot_code state) {
    run_once(&before_release, range);
    return __real_knit_release(range, state);
}

static granule_id four[4]; /* adjacent siblings of weight 4: all children of a node of 16 */
static size_t tables;

static void start(void) {
    start_backend();
    tables = sim_reserved();
    for (unsigned i = 0; i < 4; i++) {
        bool zeroed;
        four[i] = granule_of(backend_fetch(FOR_SMALL_SLABS, 4, &zeroed));
        assert_int_equal(four[i], four[0] + 4 * i);
        assert_int_equal(knit_weight(four[i]), 4);
    }
    ownership.rollbacks = ownership.deferrals = 0;
}

static size_t waiting_in(unsigned nest) {
    size_t granules = 0;
    for (unsigned class = 0; class < RANGE_CLASSES; class ++)
        granules += nest_count(&ownership.nests[nest], class) * weight_of_class(class);
    return granules;
}

static void check_books(void) {
    assert_int_equal(free_granules(MAPPED), waiting_in(0) + waiting_in(1));
    assert_int_equal(free_granules(UNMAPPED), waiting_in(UNMAPPED_NEST));
}

/* Everything is free now: nothing may be left of it. */
static void finish(void) {
    check_books();
    thrift_purge();
    assert_true(!before_acquire && !before_release);
    assert_int_equal(ownership.deferred.first, 0);
    assert_int_equal(ownership.cached[0], 0);
    assert_int_equal(ownership.cached[1], 0);
    assert_int_equal(root_count(), 0);
    assert_int_equal(sim_reserved(), tables);
}

static void place_all_but(unsigned one, unsigned other) {
    for (unsigned i = 0; i < 4; i++)
        if (i != one && i != other) range_place(four[i], MAPPED);
}

/* The other thread's half of an acquire, its Knit step: it has the range from Nest already. */
static enum slot_code finish_theft(granule_id range) {
    enum slot_code was = __real_knit_acquire(range);
    if (was == IN_USE) return was;
    ownership.cached[0] -= knit_weight(range);
    leaf_set(range, leaf_held());
    return was;
}

static void steal_from_nest(granule_id range) {
    CHECK(nest_take_this(&ownership.nests[0], FOUR, range, leaf_free(0)));
}

static void what_knit_has_in_use_goes_back_into_nest(void **state) {
    (void)state;
    start();
    range_place(four[0], MAPPED);
    assert_int_equal(knit_acquire(four[0]), MAPPED);
    assert_int_equal(range_acquire(FOR_SMALL_SLABS, MAPPED, 4), 0);
    assert_true(ownership.rollbacks >= 1 && ownership.rollbacks <= 8); /* a bounded number of tries */
    assert_int_equal(waiting_in(0), 4);
    assert_true(knit_release(four[0], MAPPED));
    assert_int_equal(range_acquire(FOR_SMALL_SLABS, MAPPED, 4), four[0]);
    assert_true(leaf_same(leaf_get(four[0]), leaf_held()));
    check_books();
    place_all_but(4, 4);
    finish();
}

static void take_knit_and_block_nest(void) {
    CHECK(__real_knit_acquire(four[0]) == MAPPED);
    busy[0] = true;
}

static void what_cannot_go_back_is_deferred(void **state) {
    (void)state;
    start();
    range_place(four[0], MAPPED);
    watched = four[0];
    before_acquire = take_knit_and_block_nest;
    assert_int_equal(range_acquire(FOR_SMALL_SLABS, MAPPED, 4), 0);
    busy[0] = false;
    assert_int_equal(ownership.deferred.first, four[0]);
    assert_true(leaf_same(leaf_get(four[0]), leaf_deferred(false, false)));
    assert_true(range_place_deferred()); /* Knit still says "in use": deferred again */
    assert_int_equal(ownership.deferred.first, four[0]);
    assert_true(leaf_same(leaf_get(four[0]), leaf_deferred(false, false)));
    range_place(four[1], MAPPED); /* and no partner for a join */
    assert_int_equal(knit_weight(four[1]), 4);
    assert_int_equal(range_acquire(FOR_SMALL_SLABS, MAPPED, 4), four[1]);
    assert_true(knit_release(four[0], MAPPED));
    assert_true(range_place_deferred());
    assert_false(range_place_deferred());
    assert_int_equal(ownership.deferred.first, 0);
    check_books();
    place_all_but(0, 4);
    finish();
}

static void take_knit_and_block_unmapped(void) {
    CHECK(__real_knit_acquire(four[0]) == UNMAPPED);
    busy[UNMAPPED_NEST] = true;
}

/* However often it is deferred, a range without pages stays one. */
static void what_is_deferred_again_keeps_its_state(void **state) {
    (void)state;
    start();
    range_place(four[0], UNMAPPED);
    watched = four[0];
    before_acquire = take_knit_and_block_unmapped;
    granule_id larger = range_acquire(FOR_SMALL_SLABS, UNMAPPED, 4);
    busy[UNMAPPED_NEST] = false;
    assert_true(larger && larger != four[0]);
    for (unsigned times = 0; times < 3; times++) {
        assert_true(leaf_same(leaf_get(four[0]), leaf_deferred(true, false)));
        assert_true(range_place_deferred());
    }
    assert_true(knit_release(four[0], UNMAPPED));
    assert_true(range_place_deferred());
    range_place(larger, UNMAPPED);
    check_books();
    place_all_but(0, 4);
    finish();
}

static void a_busy_nest_defers_what_is_placed(void **state) {
    (void)state;
    start();
    busy[0] = true;
    busy[UNMAPPED_NEST] = true;
    range_place(four[0], UNMAPPED);
    range_place(four[2], MAPPED);
    busy[0] = false;
    busy[UNMAPPED_NEST] = false;
    assert_int_equal(ownership.deferrals, 2);
    assert_true(leaf_same(leaf_get(four[0]), leaf_deferred(true, true)));
    assert_true(leaf_same(leaf_get(four[2]), leaf_deferred(false, true)));
    assert_int_equal(free_granules(UNMAPPED), waiting_in(UNMAPPED_NEST) + 4); /* or the watermark would not hold */
    assert_int_equal(free_granules(MAPPED), waiting_in(0) + waiting_in(1) + 4);
    assert_true(range_place_deferred());
    assert_int_equal(waiting_in(0), 4);
    assert_int_equal(ownership.nests[UNMAPPED_NEST].classes[FOUR].summary, 1);
    check_books();
    place_all_but(0, 2);
    finish();
}

static void who_finds_nothing_places_what_was_deferred(void **state) {
    (void)state;
    start();
    busy[0] = true;
    range_place(four[0], MAPPED);
    busy[0] = false;
    assert_int_equal(ownership.deferred.first, four[0]);
    bool zeroed;
    assert_int_equal(granule_of(backend_fetch(FOR_SMALL_SLABS, 4, &zeroed)), four[0]);
    assert_int_equal(ownership.deferred.first, 0);
    place_all_but(4, 4);
    finish();
}

static void free_left_neighbour(void) {
    range_place(four[0], MAPPED);
}

static void a_refused_release_joins(void **state) {
    (void)state;
    start();
    watched = four[1];
    before_release = free_left_neighbour;
    range_place(four[1], MAPPED);
    assert_int_equal(ownership.rollbacks, 1);
    assert_int_equal(nest_count(&ownership.nests[0], FOUR), 0);
    assert_int_equal(range_acquire(FOR_SMALL_SLABS, MAPPED, 8), four[0]);
    assert_int_equal(knit_weight(four[0]), 8);
    range_place(four[0], MAPPED);
    check_books();
    place_all_but(0, 1);
    finish();
}

static void free_left_neighbour_and_steal(void) {
    range_place(four[0], MAPPED);
    steal_from_nest(four[1]);
}

static void a_stolen_range_is_left_to_the_thief(void **state) {
    (void)state;
    start();
    watched = four[1];
    before_release = free_left_neighbour_and_steal;
    range_place(four[1], MAPPED);
    assert_int_equal(ownership.rollbacks, 1);
    assert_int_equal(finish_theft(four[1]), LEFT);
    check_books();
    range_place(four[1], MAPPED); /* the thief gives it back: the two join at last */
    assert_int_equal(knit_weight(four[0]), 8);
    check_books();
    place_all_but(0, 1);
    finish();
}

/* The thief had looked before the range was left, and has put it back: two free neighbours stay apart. */
static void leave_one_in_nest(void) {
    watched = four[1];
    before_release = free_left_neighbour_and_steal;
    range_place(four[1], MAPPED);
    assert_true(nest_place(&ownership.nests[0], FOUR, four[1]));
    assert_int_equal(nest_count(&ownership.nests[0], FOUR), 2);
    check_books();
}

static void a_left_range_heals_when_a_neighbour_is_freed(void **state) {
    (void)state;
    start();
    leave_one_in_nest();
    range_place(four[2], MAPPED);
    assert_int_equal(knit_weight(four[0]), 12);
    assert_int_equal(nest_count(&ownership.nests[0], FOUR), 0);
    check_books();
    range_place(four[3], MAPPED);
    finish();
}

static void a_left_range_heals_when_it_is_taken(void **state) {
    (void)state;
    start();
    leave_one_in_nest();
    granule_id first = range_acquire(FOR_SMALL_SLABS, MAPPED, 4), second = range_acquire(FOR_SMALL_SLABS, MAPPED, 4);
    assert_true(first + second == four[0] + four[1]);
    range_place(first, MAPPED);
    range_place(second, MAPPED);
    assert_int_equal(knit_weight(four[0]), 8);
    place_all_but(0, 1);
    finish();
}

/* A left range may wait in the other state: it is nobody's partner then, and stays left. */
static void a_left_range_of_another_state_is_left_again(void **state) {
    (void)state;
    start();
    leave_one_in_nest();
    ownership.nests[0].classes[FOUR].summary = 0;
    memset(ownership.nests[0].classes[FOUR].slots, 0, sizeof ownership.nests[0].classes[FOUR].slots);
    leaf_set(four[1], leaf_free(UNMAPPED_NEST));
    assert_true(nest_place(&ownership.nests[UNMAPPED_NEST], FOUR, four[1]));
    assert_true(nest_place(&ownership.nests[0], FOUR, four[0]));
    ownership.cached[0] -= 4;
    ownership.cached[1] += 4;
    range_place(four[2], MAPPED);
    assert_int_equal(knit_weight(four[2]), 4);
    check_books();
    assert_int_equal(range_acquire(FOR_SMALL_SLABS, UNMAPPED, 4), four[1]);
    range_place(four[1], MAPPED);
    assert_int_equal(knit_weight(four[0]), 12);
    range_place(four[3], MAPPED);
    finish();
}

/* A thief between Nest and Knit keeps the neighbour from both joining and waiting: it is deferred until he is done. */
static void a_sibling_without_nest_half_is_no_partner(void **state) {
    (void)state;
    start();
    range_place(four[0], MAPPED);
    steal_from_nest(four[0]);
    range_place(four[1], MAPPED);
    assert_int_equal(ownership.deferred.first, four[1]);
    assert_true(leaf_same(leaf_get(four[1]), leaf_deferred(false, true)));
    assert_int_equal(finish_theft(four[0]), MAPPED);
    assert_true(range_place_deferred());
    range_place(four[0], MAPPED);
    assert_int_equal(knit_weight(four[0]), 8);
    check_books();
    place_all_but(0, 1);
    finish();
}

/* Nor does a range that grows get it. */
static void a_range_grows_by_a_whole_sibling_only(void **state) {
    (void)state;
    start();
    range_place(four[1], MAPPED);
    size_t free = free_granules(MAPPED);
    steal_from_nest(four[1]);
    assert_int_equal(range_join_right(four[0], UNMAPPED), 0);
    assert_int_equal(ownership.rollbacks, 0);
    assert_int_equal(range_join_right(four[0], MAPPED), 0);
    assert_int_equal(ownership.rollbacks, 1);
    assert_true(knit_weight(four[0]) == 4 && knit_weight(four[1]) == 4 && free_granules(MAPPED) == free);
    assert_int_equal(finish_theft(four[1]), MAPPED);
    assert_int_equal(range_join_right(four[0], MAPPED), 0); /* it is in use */
    range_place(four[1], MAPPED);
    assert_int_equal(range_join_right(four[0], MAPPED), 4);
    assert_true(knit_weight(four[0]) == 8 && free_granules(MAPPED) == free - 4);
    range_place(four[0], MAPPED);
    check_books();
    place_all_but(0, 1);
    finish();
}

static void a_root_that_cannot_go_waits(void **state) {
    (void)state;
    start();
    place_all_but(3, 4);
    sim_fail_after(0);
    thrift_purge();
    for (granule_id range; (range = range_acquire(FOR_SMALL_SLABS, MAPPED, 1));) range_place(range, UNMAPPED);
    range_place(four[3], UNMAPPED);
    sim_fail_after(SIM_NEVER);
    assert_int_equal(root_count(), 1);
    assert_int_equal(free_granules(UNMAPPED), ROOT_GRANULES);
    granule_id root = range_acquire(FOR_SMALL_SLABS, UNMAPPED, 4);
    assert_true(knit_is_root(root));
    assert_true(root_walk_begin()); /* a walker, too, keeps it */
    range_place(root, UNMAPPED);
    assert_int_equal(root_count(), 1);
    root_walk_end();
    root = range_acquire(FOR_SMALL_SLABS, UNMAPPED, 4);
    range_place(root, UNMAPPED);
    finish();
}

static void place_in_both(void) {
    ownership.active = 0;
    range_place(four[0], MAPPED);
    ownership.active = 1;
    range_place(four[2], MAPPED);
}

static void both_buffers_are_searched(void **state) {
    (void)state;
    start();
    place_in_both();
    assert_int_equal(range_acquire_below(FOR_SMALL_SLABS, 4), 0);
    for (unsigned left = 2; left > 0; left--)
        assert_int_equal(range_acquire_below(FOR_SMALL_SLABS, 5), four[2 * left - 2]);
    assert_int_equal(range_acquire_below(FOR_SMALL_SLABS, 5), 0);
    range_place(four[2], MAPPED); /* in the second buffer alone */
    assert_int_equal(range_acquire_below(FOR_SMALL_SLABS, 5), four[2]);
    granule_id rest = knit_split(four[0], 1);
    leaf_set(rest, leaf_held());
    ownership.active = 0;
    range_place(four[0], MAPPED); /* of the least class, in the first buffer alone */
    assert_int_equal(range_acquire_below(FOR_SMALL_SLABS, 2), four[0]);
    knit_join(four[0], rest);
    place_in_both();
    assert_int_equal(waiting_in(0), 4);
    assert_int_equal(waiting_in(1), 4);
    assert_int_equal(range_acquire(FOR_SMALL_SLABS, MAPPED, 4), four[2]); /* the active one first */
    assert_int_equal(range_acquire(FOR_SMALL_SLABS, MAPPED, 4), four[0]);
    range_place(four[0], MAPPED);
    ownership.active ^= 1;
    range_place(four[1], MAPPED); /* joins across buffers, into the active one */
    assert_int_equal(waiting_in(0), 8);
    place_all_but(0, 1);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_knit_has_in_use_goes_back_into_nest),
        cmocka_unit_test(what_cannot_go_back_is_deferred),
        cmocka_unit_test(what_is_deferred_again_keeps_its_state),
        cmocka_unit_test(a_busy_nest_defers_what_is_placed),
        cmocka_unit_test(who_finds_nothing_places_what_was_deferred),
        cmocka_unit_test(a_refused_release_joins),
        cmocka_unit_test(a_stolen_range_is_left_to_the_thief),
        cmocka_unit_test(a_left_range_heals_when_a_neighbour_is_freed),
        cmocka_unit_test(a_left_range_heals_when_it_is_taken),
        cmocka_unit_test(a_left_range_of_another_state_is_left_again),
        cmocka_unit_test(a_sibling_without_nest_half_is_no_partner),
        cmocka_unit_test(a_range_grows_by_a_whole_sibling_only),
        cmocka_unit_test(a_root_that_cannot_go_waits),
        cmocka_unit_test(both_buffers_are_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
