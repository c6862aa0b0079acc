/* free_link_test.c - a link leads back to where it was made for, and only near ones pass the one test of malloc. */
#include "sync/free_link.h"
#include "unit.h"

enum { BLOCK = 1 << 16, STEP = 16 };

static _Alignas(BLOCK) char block[2 * BLOCK];

static uint64_t key_of(unsigned i) {
    return link_key_of(0x9e3779b97f4a7c15u * (i + 1));
}

static void a_link_leads_to_the_next_object(void **state) {
    (void)state;
    for (unsigned i = 0; i < 64; i++)
        for (unsigned from = 0; from < BLOCK; from += BLOCK / 32)
            for (unsigned to = 0; to < 2 * BLOCK; to += BLOCK / 16) {
                link_write(block + from, block + to, key_of(i));
                assert_ptr_equal(link_next(block + from, key_of(i)), block + to);
                assert_true(*link_upper_half(block + from) >= LINK_MARK);
                bool near = link_is_near(link_distance(block + from, key_of(i)), BLOCK);
                assert_int_equal(near, to < BLOCK);
            }
}

static void what_is_cleared_is_no_link(void **state) {
    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        link_write(block, block + STEP, key_of(i));
        link_clear(block);
        assert_true(*link_upper_half(block) < LINK_MARK);
        assert_false(link_is_near(link_distance(block, key_of(i)), BLOCK));
    }
}

/* No key makes a near link of the end's word: an empty list needs no test of its own. */
static void an_end_is_never_near(void **state) {
    (void)state;
    assert_true(link_is_end(LINK_END) && link_is_end(block + 1) && !link_is_end(block));
    for (unsigned i = 0; i < 1000; i++) assert_false(link_is_near(link_distance(LINK_END, key_of(i)), BLOCK));
    link_write(block, LINK_END, key_of(0));
    assert_ptr_equal(link_next(block, key_of(0)), LINK_END);
}

static void another_key_does_not_follow(void **state) {
    (void)state;
    link_write(block, block + STEP, key_of(0));
    assert_false(link_next(block, key_of(1)) == block + STEP);
    assert_false(link_is_near(link_distance(block, key_of(1)), BLOCK));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_leads_to_the_next_object),
        cmocka_unit_test(what_is_cleared_is_no_link),
        cmocka_unit_test(an_end_is_never_near),
        cmocka_unit_test(another_key_does_not_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
