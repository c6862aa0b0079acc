/* heap_shortage_test.c - a malloc that fails again looks at everything again only if something has come back. */
#include "heap_players.h"

#include <errno.h>

#include "config/policy.h"
#include "frontend/heap_shortage.h"
#include "frontend/suspect.h"

enum { SMALL = 224, NOTE = 24, OF_MIDEND = 4000, OF_BACKEND = 64 << 10, MOST = 4 * ROOT_GRANULES, FAILURES = 100 };

static unsigned looks;

static wide_bool count_look(wide_bool now) {
    looks += now;
    return false;
}

static void *objects[MOST << (JW_GRANULE_SHIFT - 7)], *other[GRANULE_SIZE / SMALL + 1], *mid[64], *large;
static unsigned count;
static bool has_notes; /* heap 2 has memory for notes */

static void *try_as(unsigned heap, size_t size) {
    heap_enter(heaps[heap]);
    void *object = jw_malloc(size);
    heap_enter(heaps[0]);
    return object;
}

static void fail_often(void) {
    for (unsigned i = 0; i < FAILURES; i++) assert_null(try_as(0, SMALL));
}

/* All memory is in use by heap 0, except for a few slabs; the OS has no more. */
static void run_short(void) {
    start();
    thrift_on_round(ROUND_RANGES, count_look);
    for (unsigned i = 0; i < sizeof other / sizeof *other; i++) other[i] = allocate_as(1, SMALL);
    for (unsigned i = 0; i < sizeof mid / sizeof *mid; i++) mid[i] = allocate_as(0, OF_MIDEND);
    large = allocate_as(0, OF_BACKEND);
    void *note = has_notes ? allocate_as(2, NOTE) : NULL;
    sim_fail_only(SIM_RESERVE);
    sim_fail_after(0);
    void *object;
    for (count = 0; (object = try_as(0, SMALL)); count++) {
        assert_true(count < sizeof objects / sizeof *objects);
        objects[count] = object;
    }
    fail_often();
    walk_all();
    looks = 0;
    fail_often();
    assert_true(looks <= 1); /* the periodic maintenance may have moved something */
    if (note) free_as(2, note);
}

static void recover(void) {
    sim_fail_after(SIM_NEVER);
    for (unsigned i = 0; i < count; i++)
        if (objects[i]) free_as(0, objects[i]);
    for (unsigned i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i]) free_as(1, other[i]);
    for (unsigned i = 0; i < sizeof mid / sizeof *mid; i++)
        if (mid[i]) free_as(0, mid[i]);
    if (large) free_as(0, large);
    thrift_on_round(ROUND_RANGES, NULL);
    finish();
}

/* What came back is had at once, and then there is nothing again. */
static void expect_one(unsigned index) {
    objects[index] = try_as(0, SMALL);
    assert_non_null(objects[index]);
    walk_all();
    assert_null(try_as(0, SMALL));
}

static void in_vain_once(void **state) {
    (void)state;
    run_short();
    fail_often();
    for (unsigned i = 0; i < SHORTAGE_PERIOD; i++) assert_null(try_as(0, SMALL));
    assert_true(looks > 0); /* now and then all the same */
    recover();
}

static void own_objects_come_back(void **state) {
    (void)state;
    run_short();
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < count; i += count / 16) { /* later: slabs that became full in the shortage */
            free_as(0, objects[i]);
            walk_all();
            expect_one(i);
        }
    recover();
}

static void others_free(void **state) {
    (void)state;
    run_short();
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < count; i += count / 16) {
            free_as(1, objects[i]);
            expect_one(i);
        }
    recover();
}

static void other_threads_slabs_come_back(void **state) {
    (void)state;
    run_short();
    for (unsigned i = 0; i < GRANULE_SIZE / SMALL; i++) { /* not the current one's */
        free_as(1, other[i]);
        other[i] = NULL;
    }
    assert_non_null(objects[count++] = try_as(0, SMALL));
    recover();
}

static void larger_objects_come_back(void **state) {
    (void)state;
    run_short();
    for (unsigned i = 0; i < sizeof mid / sizeof *mid; i++) {
        free_as(0, mid[i]);
        mid[i] = NULL;
    }
    assert_non_null(objects[count++] = try_as(0, SMALL));
    while ((objects[count] = try_as(0, SMALL))) count++;
    fail_often();
    free_as(0, large);
    large = NULL;
    assert_non_null(objects[count++] = try_as(0, SMALL));
    recover();
}

/* The objects of a slab of the midend are all in the thread's cache: a malloc that finds nothing empties it. */
static void cached_mid_objects_come_back(void **state) {
    (void)state;
    run_short();
    free_as(0, mid[0]);
    assert_null(try_as(0, SMALL));
    fail_often();
    mid[0] = try_as(0, OF_MIDEND); /* from now on the cache has room */
    assert_non_null(mid[0]);
    granule_id slab = granule_start(granule_of(mid[0]));
    for (unsigned i = 0; i < sizeof mid / sizeof *mid; i++) {
        if (granule_start(granule_of(mid[i])) != slab) continue;
        free_as(0, mid[i]);
        mid[i] = NULL;
    }
    objects[count] = try_as(0, SMALL);
    assert_non_null(objects[count]);
    count++;
    recover();
}

/* A slab that a thread in need wants back, and of which others have freed all: a round gives its page back. */
static void a_wanted_slab_that_is_free_goes_in_a_round(void **state) {
    (void)state;
    run_short();
    struct slab *slab = slab_of(objects[0]);
    assert_true(slab_state(slab) == WANTED);
    for (unsigned i = 0; i < count; i++) {
        if (slab_of(objects[i]) != slab) continue;
        free_as(1, objects[i]);
        objects[i] = NULL;
    }
    thrift_purge();
    assert_true(cross_is_taken(cross_get(&slab->cross)));
    recover();
}

/* How many calls fail at once after a note of the shortage. */
static unsigned failures_until_look(struct heap *heap, unsigned most) {
    unsigned failures = 0;
    heap_note_shortage(heap);
    do heap->maintenance_ticks++;
    while (failures++ < most && heap_fails_at_once(heap));
    return failures;
}

/* Each note begins the period anew. A slab that another thread has returned before the note is still looked at. */
static void a_note_says_what_was_seen(void **state) {
    (void)state;
    run_short();
    assert_int_equal(failures_until_look(heaps[0], 2 * SHORTAGE_PERIOD), SHORTAGE_PERIOD);
    failures_until_look(heaps[0], SHORTAGE_PERIOD / 2);
    assert_int_equal(failures_until_look(heaps[0], 2 * SHORTAGE_PERIOD), SHORTAGE_PERIOD);
    free_as(1, objects[0]);
    objects[0] = NULL;
    assert_int_equal(failures_until_look(heaps[0], SHORTAGE_PERIOD), 1);
    recover();
}

/* Whichever of the heap's caches has objects or a slab: a look would take them. */
static void each_mid_cache_is_a_reason_to_look(void **state) {
    (void)state;
    run_short();
    for (unsigned i = 0; i < MID_CACHES; i++) {
        struct mid_cache *cache = &heaps[0]->mid_caches[i], before = *cache;
        assert_true(before.held_bytes == 0 && !before.cached);
        cache->held_bytes = 1;
        assert_int_equal(failures_until_look(heaps[0], SHORTAGE_PERIOD), 1);
        cache->held_bytes = 0;
        cache->cached = mid[0];
        assert_int_equal(failures_until_look(heaps[0], SHORTAGE_PERIOD), 1);
        *cache = before;
    }
    assert_int_equal(failures_until_look(heaps[0], 2 * SHORTAGE_PERIOD), SHORTAGE_PERIOD);
    recover();
}

static uint32_t unseen; /* number of a heap whose memory a thread does not see yet; 0: none */
struct heap *__real_heap_by_number(uint32_t number);
struct heap *__wrap_heap_by_number(uint32_t number);

struct heap *__wrap_heap_by_number(uint32_t number) {
    return unseen && number == unseen ? NULL : __real_heap_by_number(number);
}

/* Another thread has counted a new heap, and this one sees the count before the memory. The signs leave the heap out
 * until it is seen. */
static void a_heap_without_memory_is_no_sign(void **state) {
    (void)state;
    run_short();
    unseen = heaps[HEAPS - 1]->number;
    assert_int_equal(failures_until_look(heaps[0], 2 * SHORTAGE_PERIOD), SHORTAGE_PERIOD);
    heap_note_shortage(heaps[0]);
    heaps[0]->maintenance_ticks++;
    unseen = 0;
    assert_false(heap_fails_at_once(heaps[0]));
    recover();
}

/* Frees an object of heap 0 that looks free, as heap 2. */
static void free_suspect(void) {
    free_as(0, objects[2]);
    free_as(0, objects[1]);
    memcpy(objects[0], objects[1], 16); /* a link to the object behind */
    objects[1] = objects[2] = NULL;
    errno = 77;
    free_as(2, objects[0]);
    assert_int_equal(errno, 77); /* free leaves it alone */
}

/* By a thread that finds no memory for a note it is freed at once, and its place among the notes goes back. */
static void a_suspect_without_a_note_is_freed(void **state) {
    (void)state;
    run_short();
    assert_null(try_as(2, NOTE));
    free_suspect();
    assert_int_equal(heaps[0]->suspect_count, 0);
    objects[0] = NULL;
    recover();
}

/* A note is a reason to look again. */
static void a_suspect_comes_back(void **state) {
    (void)state;
    has_notes = true;
    run_short();
    free_suspect();
    assert_int_equal(heaps[0]->suspect_count, 1);
    assert_int_equal(failures_until_look(heaps[0], SHORTAGE_PERIOD), 1);
    heap_take_all_incoming(heaps[0]);
    assert_int_equal(heaps[0]->suspect_count, 0);
    objects[0] = NULL;
    recover();
    has_notes = false;
}

/* One that is refused takes no place. */
static void so_many_suspects_have_a_note(void **state) {
    (void)state;
    for (unsigned i = 0; i < SUSPECTS_MOST; i++) assert_true(heap_reserve_suspect(heaps[0]));
    for (unsigned i = 0; i < 2; i++) assert_false(heap_reserve_suspect(heaps[0]));
    heap_unreserve_suspects(heaps[0], 1);
    assert_true(heap_reserve_suspect(heaps[0]));
    assert_false(heap_reserve_suspect(heaps[0]));
    heap_unreserve_suspects(heaps[0], SUSPECTS_MOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_vain_once),
        cmocka_unit_test(own_objects_come_back),
        cmocka_unit_test(others_free),
        cmocka_unit_test(other_threads_slabs_come_back),
        cmocka_unit_test(larger_objects_come_back),
        cmocka_unit_test(a_wanted_slab_that_is_free_goes_in_a_round),
        cmocka_unit_test(cached_mid_objects_come_back),
        cmocka_unit_test(a_note_says_what_was_seen),
        cmocka_unit_test(each_mid_cache_is_a_reason_to_look),
        cmocka_unit_test(a_heap_without_memory_is_no_sign),
        cmocka_unit_test(a_suspect_without_a_note_is_freed),
        cmocka_unit_test(a_suspect_comes_back),
        cmocka_unit_test(so_many_suspects_have_a_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
