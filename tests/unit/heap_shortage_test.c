/* heap_shortage_test.c - a malloc that fails again looks at everything again only if something has come back. */
#include "heap_players.h"

#include "config/policy.h"

enum { SMALL = 224, OF_MIDEND = 4000, OF_BACKEND = 64 << 10, MOST = 4 * ROOT_GRANULES, FAILURES = 100 };

static unsigned looks;

static bool count_look(void) {
    looks++;
    return false;
}

static void *objects[MOST << (JW_GRANULE_SHIFT - 7)], *other[GRANULE_SIZE / SMALL + 1], *mid[64], *large;
static unsigned count;

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
    thrift_on_round(ROUND_RANGES, NULL, count_look);
    for (unsigned i = 0; i < sizeof other / sizeof *other; i++) other[i] = allocate_as(1, SMALL);
    for (unsigned i = 0; i < sizeof mid / sizeof *mid; i++) mid[i] = allocate_as(0, OF_MIDEND);
    large = allocate_as(0, OF_BACKEND);
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
    thrift_on_round(ROUND_RANGES, NULL, NULL);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_vain_once),
        cmocka_unit_test(own_objects_come_back),
        cmocka_unit_test(others_free),
        cmocka_unit_test(other_threads_slabs_come_back),
        cmocka_unit_test(larger_objects_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
