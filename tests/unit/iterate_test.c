/* iterate_test.c - each object in use is told of once, and no free one, wherever it waits (core/iterate.h). */
#include "heap_players.h"

#include <stdlib.h>

#include "core/iterate.h"

enum { MOST = 1500, STEPS = 60, CHANGES = 400 };

struct object {
    char *address;
    unsigned told;
};

static struct object objects[MOST];
static unsigned count;

static void forget_told(void) {
    for (unsigned i = 0; i < count; i++) objects[i].told = 0;
}

static void look_up(uintptr_t address, size_t size, void *strangers) {
    for (unsigned i = 0; i < count; i++)
        if ((uintptr_t)objects[i].address == address) {
            CHECK(size == object_size(objects[i].address));
            objects[i].told++;
            return;
        }
    ++*(unsigned *)strangers;
}

static void check_all(void) {
    unsigned strangers = 0;
    forget_told();
    CHECK(iterate_objects(0, SIZE_MAX, look_up, &strangers));
    assert_int_equal(strangers, 0);
    for (unsigned i = 0; i < count; i++) assert_int_equal(objects[i].told, 1);
}

static size_t some_size(uint64_t *randomness) {
    switch (random_below(randomness, 20)) {
    case 0: return BACKEND_MIN + (size_t)random_below(randomness, 100000);
    case 1:
    case 2:
    case 3: return FRONTEND_MAX + 1 + (size_t)random_below(randomness, BACKEND_MIN - FRONTEND_MAX - 1);
    case 4: return 1 + (size_t)random_below(randomness, FRONTEND_MAX);
    default: return 1 + (size_t)random_below(randomness, 200);
    }
}

static void add(char *address) {
    CHECK(address && count < MOST);
    objects[count++].address = address;
}

static void change(uint64_t *randomness, unsigned grow) {
    unsigned heap = (unsigned)random_below(randomness, HEAPS);
    if (count == MOST || (count > 0 && random_below(randomness, 100) >= grow)) {
        unsigned i = (unsigned)random_below(randomness, count);
        free_as(heap, objects[i].address);
        objects[i] = objects[--count];
    } else {
        add(allocate_as(heap, some_size(randomness)));
    }
}

static void free_all(void) {
    for (unsigned i = 0; i < count; i++) free_as(i % HEAPS, objects[i].address);
    count = 0;
}

/* Objects of all sizes come and go in three heaps, each freed by any of them. */
static void all_objects_in_use_and_no_others(void **state) {
    (void)state;
    start();
    uint64_t randomness = 12345;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned grow = step / 10 % 2 ? 35 : 65;
        for (unsigned i = 0; i < CHANGES; i++) change(&randomness, grow);
        check_all();
        if (step % 7 == 6) thrift_purge(); /* rounds take slabs that are free but for their lists */
        if (step % 7 == 6) check_all();
        walk_all();
    }
    free_all();
    check_all();
    finish();
}

static void only_what_begins_in_the_range(void **state) {
    (void)state;
    start();
    unsigned strangers = 0;
    add(allocate_as(0, 100));
    add(allocate_as(0, 100));
    add(allocate_as(1, 20000));
    heap_enter(heaps[0]);
    size_t page = platform_page_size();
    add(allocate_aligned(16 * page, 3 * page));
    add(jw_malloc(BACKEND_MAX + 1));
    check_all();
    for (unsigned i = 0; i < count; i++) {
        uintptr_t address = (uintptr_t)objects[i].address;
        forget_told();
        CHECK(iterate_objects(address, 1, look_up, &strangers) && objects[i].told == 1);
        CHECK(iterate_objects(address + 1, 7, look_up, &strangers) && objects[i].told == 1);
        CHECK(iterate_objects(address - 8, 8, look_up, &strangers) && objects[i].told == 1);
        CHECK(iterate_objects(address, 0, look_up, &strangers) && objects[i].told == 1);
    }
    assert_int_equal(strangers, 0);
    free_all();
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_objects_in_use_and_no_others),
        cmocka_unit_test(only_what_begins_in_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
