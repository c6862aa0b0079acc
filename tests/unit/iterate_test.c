/* iterate_test.c - each object in use is told of once, and no free one, wherever it waits (core/iterate.h); what an
 * address is, of all tiers (core/describe.h). */
#include "heap_players.h"

#include <stdlib.h>

#include "backend/large_object.h"
#include "core/describe.h"
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

static void check_found(const void *address, enum serving_tier tier, enum found_state state, size_t size) {
    struct found found;
    describe(address, &found);
    assert_int_equal(found.tier, tier);
    assert_int_equal(found.state, state);
    assert_int_equal(found.size, size);
    assert_int_equal(found.owner == OWNER_NONE, tier != TIER_SMALL);
}

/* The simulated system gives neighbouring addresses to others. */
static void check_outside(const void *address) {
    struct found found;
    describe(address, &found);
    assert_int_not_equal(found.tier, TIER_HUGE);
}

/* In use, free in whatever list, and what lies between. */
static void an_address_of_a_small_object(void **state) {
    (void)state;
    start();
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        size_t size = size_classes[class].size, rest = GRANULE_SIZE % size;
        char *object = memset(allocate_as(1, size), 0, size), *other = allocate_as(1, size);
        check_found(object, TIER_SMALL, FOUND_IN_USE, size);
        assert_int_equal(good_size(1, size), size);
        check_found(object + 1, TIER_SMALL, FOUND_INSIDE, size);
        check_found(object + size - 1, TIER_SMALL, FOUND_INSIDE, size);
        char *end = (char *)((uintptr_t)object | (GRANULE_SIZE - 1));
        check_found(end, TIER_SMALL, rest ? FOUND_BETWEEN : FOUND_INSIDE, size);
        if (rest) check_found(end - rest + 1, TIER_SMALL, FOUND_BETWEEN, size);
        free_as(1, object);
        check_found(object, TIER_SMALL, FOUND_FREE, size);
        check_found(object + 1, TIER_SMALL, FOUND_INSIDE, size);
        free_as(0, other); /* another thread */
        check_found(other, TIER_SMALL, FOUND_FREE, size);
    }
    struct found found;
    char *object = allocate_as(2, 1);
    heaps[2]->thread = 77;
    describe(object, &found);
    assert_int_equal(found.owner, 77);
    heaps[2]->thread = 0;
    describe(object, &found);
    assert_int_equal(found.owner, OWNER_ENDED);
    free_as(2, object);
    finish();
}

static void an_address_of_a_mid_object(void **state) {
    (void)state;
    start();
    for (size_t size = FRONTEND_MAX + 1; size < BACKEND_MIN; size += 1000) {
        char *object = allocate_as(0, size), *other = allocate_as(1, size);
        size_t usable = object_size(object);
        struct found found;
        assert_int_equal(good_size(1, size), usable);
        describe(object, &found);
        if (found.tier == TIER_LARGE) {
            free_as(0, object);
            free_as(1, other);
            continue; /* the midend has no class for it */
        }
        memset(object, 0, usable);
        check_found(object, TIER_MID, FOUND_IN_USE, usable);
        check_found(object + 1, TIER_MID, FOUND_INSIDE, usable);
        check_found(object + usable - 1, TIER_MID, FOUND_INSIDE, usable);
        granule_id slab = granule_start(granule_of(object));
        char *end = granule_address(slab + knit_weight(slab)) - 1;
        unsigned count = (unsigned)((size_t)(end + 1 - granule_address(slab)) / usable);
        size_t rest = (size_t)(end + 1 - granule_address(slab)) - count * usable;
        check_found(end, TIER_MID, rest ? FOUND_BETWEEN : FOUND_INSIDE, usable);
        if (rest) check_found(end - rest + 1, TIER_MID, FOUND_BETWEEN, usable);
        free_as(0, object); /* into the thread's cache */
        check_found(object, TIER_MID, FOUND_FREE, usable);
        check_found(object + usable / 2, TIER_MID, FOUND_INSIDE, usable);
        check_found(other, TIER_MID, FOUND_IN_USE, usable);
        free_as(0, other);
        heap_drain_own(); /* back into the slab, if that stays */
        describe(object, &found);
        assert_true(found.state == FOUND_FREE || found.state == FOUND_FREE_MEMORY || found.state == FOUND_GONE);
    }
    finish();
}

static void an_address_of_a_large_or_huge_object(void **state) {
    (void)state;
    start();
    void *keeper = allocate_as(0, BACKEND_MIN); /* keeps the root */
    char *object = allocate_as(0, 5 * BACKEND_MIN), *aligned = allocate_aligned(16 * GRANULE_SIZE, 3 * GRANULE_SIZE);
    size_t size = object_size(object), aligned_size = object_size(aligned);
    check_found(object, TIER_LARGE, FOUND_IN_USE, size);
    assert_int_equal(good_size(1, 5 * BACKEND_MIN), size);
    assert_true(good_size(16 * GRANULE_SIZE, 3 * GRANULE_SIZE) >= aligned_size);
    check_found(object + 1, TIER_LARGE, FOUND_INSIDE, size);
    check_found(object + size - 1, TIER_LARGE, FOUND_INSIDE, size);
    check_found(object + GRANULE_SIZE, TIER_LARGE, FOUND_INSIDE, size);
    check_found(aligned, TIER_LARGE, FOUND_IN_USE, aligned_size);
    check_found(aligned + 1, TIER_LARGE, FOUND_INSIDE, aligned_size);
    free_as(0, aligned);
    free_as(0, object);
    check_found(object, TIER_LARGE, FOUND_FREE, size); /* in the thread's cache, or free with a trace */
    free_as(0, keeper);
    char *huge = allocate_as(0, BACKEND_MAX + 1);
    size = object_size(huge);
    check_found(huge, TIER_HUGE, FOUND_IN_USE, size);
    assert_int_equal(good_size(1, BACKEND_MAX + 1), size);
    assert_int_equal(good_size(1, (size_t)PTRDIFF_MAX + 1), 0);
    assert_int_equal(good_size(1, 0), good_size(1, 1));
    check_found(huge + 1, TIER_HUGE, FOUND_INSIDE, size);
    check_found(huge + size - 1, TIER_HUGE, FOUND_INSIDE, size);
    check_outside(huge + size);
    check_outside(huge - 1);
    free_as(0, huge);
    check_found(huge, TIER_HUGE, FOUND_FREE, size);
    check_found(huge + size - 1, TIER_NONE, FOUND_GONE, 0);
    check_found(&size, TIER_NONE, FOUND_FOREIGN, 0);
    check_found(NULL, TIER_NONE, FOUND_FOREIGN, 0);
    finish();
    check_found(object, TIER_NONE, FOUND_GONE, 0); /* its root is unmapped */
}

/* Wherever it lay in its root, as long as nothing else has its memory. Each second object goes first, so those have no
 * free neighbour; the others join theirs. */
static void a_freed_large_object_leaves_a_trace(void **state) {
    (void)state;
    enum { OBJECTS = ROOT_GRANULES };
    static char *all[OBJECTS];
    start();
    const size_t size = 2 * GRANULE_SIZE;
    unsigned at_begin = 0, at_end = 0;
    bool zeroed;
    for (unsigned i = 0; i < OBJECTS; i++) CHECK((all[i] = large_allocate(size, GRANULE_SIZE, &zeroed)));
    for (unsigned i = 0, next = 0; i < OBJECTS; i++, next += 2) {
        if (next >= OBJECTS) next = 1;
        char *object = all[next];
        unsigned place = granule_of(object) % ROOT_GRANULES;
        large_free(object);
        if (!page_map_owns(object)) continue; /* the root's last one */
        check_found(object, TIER_LARGE, FOUND_FREE, size);
        check_found(object + 1, TIER_NONE, FOUND_FREE_MEMORY, 0);
        check_found(object + GRANULE_SIZE, TIER_NONE, FOUND_FREE_MEMORY, 0);
        check_found(object + size - 1, TIER_NONE, FOUND_FREE_MEMORY, 0);
        at_begin += place == 0;
        at_end += place == ROOT_GRANULES - 2;
    }
    assert_true(at_begin > 0 && at_end > 0);
    char *aligned[4];
    unsigned moved = 0;
    for (unsigned i = 0; i < 4; i++) CHECK((aligned[i] = large_allocate(size, 8 * GRANULE_SIZE, &zeroed)));
    for (unsigned i = 0; i < 3; i++) { /* the last one keeps the root */
        size_t usable = large_usable_size(aligned[i]);
        moved += granule_start(granule_of(aligned[i])) != granule_of(aligned[i]); /* has its trace in its first leaf */
        large_free(aligned[i]);
        check_found(aligned[i], TIER_LARGE, FOUND_FREE, usable);
        check_found(aligned[i] + GRANULE_SIZE, TIER_NONE, FOUND_FREE_MEMORY, 0);
    }
    large_free(aligned[3]);
    assert_true(moved > 0);
    finish();
}

static void fork_once(uintptr_t address, size_t size, void *forks) {
    (void)address, (void)size;
    if ((*(unsigned *)forks)++ == 0) sim_fork(true);
}

/* The child is told of the rest. It has no walk to end: it has forgotten all. */
static void fork_in_a_walk(void) {
    unsigned told = 0;
    add(jw_malloc(100));
    add(jw_malloc(BACKEND_MIN));
    CHECK(iterate_objects(0, SIZE_MAX, fork_once, &told) && told == count);
    told = 1;
    CHECK(iterate_objects(0, SIZE_MAX, fork_once, &told) && told == 1 + count);
}

static void a_function_may_fork(void **state) {
    (void)state;
    start();
    run_in_child(fork_in_a_walk);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_objects_in_use_and_no_others),
        cmocka_unit_test(only_what_begins_in_the_range),
        cmocka_unit_test(an_address_of_a_small_object),
        cmocka_unit_test(an_address_of_a_mid_object),
        cmocka_unit_test(an_address_of_a_large_or_huge_object),
        cmocka_unit_test(a_freed_large_object_leaves_a_trace),
        cmocka_unit_test(a_function_may_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
