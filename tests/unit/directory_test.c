/* directory_test.c - the directory: each address has a word of its own, at any distance from the others. The search for
 * the object before an address finds it through the levels. */
#include "unit.h"

enum { MOST = 2 * JW_ADDRESS_BITS };

static uintptr_t addresses[MOST]; /* ascending */
static unsigned count;

static const void *at(uintptr_t address) {
    return (const void *)address; // NOLINT(performance-no-int-to-ptr)
}

/* The first and the last granule of each power of two, and so the first and the last word of tables. */
static void fill(void) {
    start_backend();
    count = 0;
    for (unsigned bit = JW_GRANULE_SHIFT; bit < JW_ADDRESS_BITS; bit++) {
        addresses[count++] = (uintptr_t)1 << bit;
        if (bit > JW_GRANULE_SHIFT) addresses[count++] = ((uintptr_t)2 << bit) - GRANULE_SIZE;
    }
    for (unsigned i = 0; i < count; i++) {
        huge_word *word = directory_make_word(at(addresses[i]));
        assert_non_null(word);
        assert_int_equal(*word, 0);
        assert_ptr_equal(directory_word(at(addresses[i])), word);
        *word = huge_word_of(i + 1);
    }
}

static void each_address_has_a_word_of_its_own(void **state) {
    (void)state;
    fill();
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(huge_word_granules(directory_get(at(addresses[i]))), i + 1);
        assert_int_equal(directory_get(at(addresses[i] + 1)), 0); /* not a granule's start */
        uintptr_t next = addresses[i] + GRANULE_SIZE;
        bool is_there = i + 1 < count && addresses[i + 1] == next;
        assert_int_equal(huge_word_granules(directory_get(at(next))), is_there ? i + 2 : 0);
    }
}

static void what_is_beyond_has_no_word(void **state) {
    (void)state;
    fill();
    if (JW_ADDRESS_BITS == sizeof(uintptr_t) * 8) return;
    const void *beyond = at((uintptr_t)1 << JW_ADDRESS_BITS % (sizeof(uintptr_t) * 8));
    uintptr_t word;
    assert_null(directory_make_word(beyond));
    assert_int_equal(directory_get(beyond), 0);
    assert_null(directory_before(beyond, false, &word));
}

static void the_object_before_is_found(void **state) {
    (void)state;
    fill();
    uintptr_t word;
    for (unsigned i = 0; i < count; i++) {
        assert_ptr_equal(directory_before(at(addresses[i] + GRANULE_SIZE - 1), false, &word), at(addresses[i]));
        assert_int_equal(huge_word_granules(word), i + 1);
        const void *before = directory_before(at(addresses[i] - 1), false, &word);
        assert_ptr_equal(before, i > 0 ? at(addresses[i - 1]) : NULL);
    }
}

static void freed_objects_are_found_apart(void **state) {
    (void)state;
    fill();
    huge_word *word = directory_word(at(addresses[3]));
    *word = huge_word_with_gone(*word);
    uintptr_t found;
    assert_ptr_equal(directory_before(at(addresses[5]), true, &found), at(addresses[3]));
    assert_true(huge_word_is_gone(found) && !huge_word_is_live(found) && huge_word_granules(found) == 4);
    assert_ptr_equal(directory_before(at(addresses[3]), false, &found), at(addresses[2]));
    assert_null(directory_before(at(addresses[2]), true, &found));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_address_has_a_word_of_its_own),
        cmocka_unit_test(what_is_beyond_has_no_word),
        cmocka_unit_test(the_object_before_is_found),
        cmocka_unit_test(freed_objects_are_found_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
