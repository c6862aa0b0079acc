/* window_test.c - at which slots of a growing window roots are asked for, one by one (page_map_slots.c). The answers
 * are the test's. */
#include "backend/page_map_tables.h"
#include "growing_tables.h"

enum {
    ASKED_MOST = 100,
    SLOTS = 1 << (JW_WINDOW_SHIFT - JW_ROOT_SHIFT),
    LOW = 1 << (JW_FIRST_WINDOW_SHIFT - 1 - JW_ROOT_SHIFT)
};

uint64_t __wrap_platform_random_place(void);

static uint64_t place; /* where the first root lies in the far part of the tables, from LOW << power on */
static struct {
    size_t slot, count;
} asked[ASKED_MOST];
static unsigned asked_count, granted_from; /* the request that is the first one to be granted */
static enum platform_reserved answer;      /* to those before */
static unsigned asked_most = ASKED_MOST;   /* only the first ASKED_MOST requests are noted */

uint64_t __wrap_platform_random_place(void) {
    return place;
}

enum platform_reserved __wrap_platform_reserve_at(void *address, size_t size, bool writes, const char *name) {
    if (strcmp(name, "jwmalloc: ranges") != 0) return __real_platform_reserve_at(address, size, writes, name);
    CHECK(asked_count < asked_most && writes);
    if (asked_count < ASKED_MOST) {
        asked[asked_count].slot = (size_t)((char *)address - page_map.base) / ROOT_SIZE;
        asked[asked_count].count = size / ROOT_SIZE;
    }
    return asked_count++ < granted_from ? answer : __real_platform_reserve_at(address, size, writes, name);
}

/* The next request was for this. */
static void was_asked(unsigned number, size_t slot, size_t count) {
    if (number >= asked_count || asked[number].slot != slot || asked[number].count != count)
        dprintf(STDERR_FILENO, "request %u of %u: slot %zu, %zu roots, not %zu, %zu\n", number, asked_count,
                asked[number].slot, asked[number].count, slot, count);
    CHECK(number < asked_count && asked[number].slot == slot && asked[number].count == count);
}

static char *reserve(size_t count, size_t wanted) {
    char *root = page_map_reserve(&count);
    CHECK(!root || count == wanted);
    return root;
}

/* The upper half of what the tables cover, or their far part, without the last slot: MAP_FAILED has its place. */
static size_t first_slot(void) {
    return (LOW << power) + (place >> 1) % (LOW - 1);
}

static size_t roots_at_first(void) {
    size_t left = LOW - (place >> 1) % (LOW - 1);
    return left < 3 ? left : 3;
}

static void grant(void) {
    size_t slot = first_slot(), count = roots_at_first();
    char *root = reserve(3, count);
    CHECK(root == page_map.base + slot * ROOT_SIZE && asked_count == 1);
    was_asked(0, slot, count);
    CHECK(page_map_owns(root) && page_map_owns(root + ROOT_SIZE - 1) && !page_map_owns(root + ROOT_SIZE));
    CHECK(count < 2 || page_map_claim(root + ROOT_SIZE)); /* as root.c does with spares */
}

static void the_first_root_is_in_the_far_part(void **state) {
    (void)state;
    static const uint64_t powers[] = {0, 1, 2, JW_WINDOW_SHIFT - JW_FIRST_WINDOW_SHIFT};
    granted_from = 0;
    for (unsigned i = 0; i < sizeof powers / sizeof *powers; i++)
        for (place = 1; place < (uint64_t)2 * LOW + 4; place += 2) {
            power = powers[i];
            run(grant);
        }
}

static void refuse(void) {
    size_t slot = first_slot(), count = roots_at_first(), more = count > 1;
    CHECK(!reserve(3, 0));
    CHECK(asked_count == 1 + more);
    was_asked(0, slot, count);
    was_asked(more, slot, 1);
    asked_count = 0;
    CHECK(!reserve(1, 0) && asked_count == 1); /* one root is asked for once */
    was_asked(0, slot, 1);
}

static void what_is_refused_ends_the_search(void **state) {
    (void)state;
    answer = RESERVE_REFUSED;
    granted_from = ASKED_MOST;
    power = 2;
    for (place = 1; place < (uint64_t)2 * LOW; place += 2) run(refuse);
}

static bool is_covered(size_t slot, size_t low, size_t far) {
    return slot < low || (slot >= far && slot < far + low);
}

/* What others have is passed over: up to the end; then all from slot 1 on; then what the tables cover twice. */
static void pass_over(void) {
    size_t low = LOW, far = LOW << power, from = first_slot();
    CHECK(reserve(1, 1) == page_map.base + asked[asked_count - 1].slot * ROOT_SIZE);
    CHECK(asked_count == granted_from + 1);
    for (unsigned number = 0; number < asked_count;) {
        for (size_t slot = from; slot < far + low && number < asked_count; slot++)
            if (is_covered(slot, low, far)) was_asked(number++, slot, 1);
        if (from > 1) {
            from = 1;
            continue;
        }
        from = far == low ? 2 * low : low; /* both parts are one then */
        if (far == low) far = low *= 2;
        else low *= 2;
    }
}

static void taken_slots_are_passed_over(void **state) {
    (void)state;
    answer = RESERVE_TAKEN;
    place = 3;
    for (power = 0; power < 4; power++)
        for (granted_from = 1; granted_from < 90; granted_from += 11) run(pass_over);
}

static void find_all_taken(void) {
    CHECK(!reserve(1, 0) && asked_count >= SLOTS - 1);
    CHECK(page_map_covered() == SLOTS * ROOT_GRANULES - 1);
}

/* Each slot is asked for once at least, and in vain: the search ends. */
static void a_window_without_a_free_slot_gives_none(void **state) {
    (void)state;
    answer = RESERVE_TAKEN;
    place = 3;
    power = 2;
    granted_from = asked_most = 4 * SLOTS;
    run(find_all_taken);
    asked_most = ASKED_MOST;
}

/* Several roots become one, then the next slot is tried. */
static void pass_over_several(void) {
    CHECK(reserve(3, 2) == page_map.base + (first_slot() + 2) * ROOT_SIZE);
    was_asked(0, first_slot(), 3);
    was_asked(1, first_slot(), 1);
    was_asked(2, first_slot() + 1, 3);
    was_asked(3, first_slot() + 1, 1);
    was_asked(4, first_slot() + 2, 2);
    CHECK(asked_count == 5);
}

static void use_again(void) {
    char *first = reserve(1, 1), *second = reserve(1, 1), *third;
    CHECK(second == first + ROOT_SIZE && first == page_map.base + first_slot() * ROOT_SIZE);
    CHECK(page_map_give_back(first));
    CHECK((third = reserve(3, 1)) == first); /* the next slot is taken */
    was_asked(2, first_slot(), 1);
    CHECK(reserve(1, 1) == second + ROOT_SIZE);
    CHECK(page_map_give_back(second) && page_map_give_back(third));
    CHECK(reserve(3, 2) == first);
    was_asked(4, first_slot(), 2);
}

static void slots_that_are_free_again_come_first(void **state) {
    (void)state;
    power = 2;
    place = 1;
    answer = RESERVE_TAKEN;
    granted_from = 4;
    run(pass_over_several);
    granted_from = 0;
    run(use_again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_root_is_in_the_far_part),
        cmocka_unit_test(what_is_refused_ends_the_search),
        cmocka_unit_test(taken_slots_are_passed_over),
        cmocka_unit_test(a_window_without_a_free_slot_gives_none),
        cmocka_unit_test(slots_that_are_free_again_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
