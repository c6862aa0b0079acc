/* instructions_test.c - each function of platform/instructions.h gives the same in the processor's form and in C, which
 * the test compares with what its comment says. */
#include "platform/instructions.h"
#include "sync/free_link.h"
#include "unit.h"

enum { RANDOM = 200000 };

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 3,
                                 0x7f,
                                 0x80,
                                 0xff,
                                 0x100,
                                 0x7fff,
                                 0x8000,
                                 0xffff,
                                 0x10000,
                                 0x7ffeffff,
                                 0x7fffffff,
                                 0x80000000,
                                 0xfffeffff,
                                 0xffff0000,
                                 0xffff0001,
                                 0xffffffff,
                                 0x100000000,
                                 0x7fffffffffff,
                                 0x800000000000,
                                 0xfffeffffffffffff,
                                 0xffff000000000000,
                                 0xffff000000000001,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 0xfffffffffffffffe,
                                 0xffffffffffffffff};
enum { EDGES = sizeof edges / sizeof *edges };

static void compare_words(uint64_t value, uint64_t other) {
    uintptr_t word = (uintptr_t)other;
    bool same = (uintptr_t)value == word;
    assert_int_equal(word_is_in_c(&word, value), same);
#if JW_X86_64_FORMS || defined __aarch64__
    assert_int_equal(word_is_in_asm(&word, value), same);
#endif
    assert_int_equal(computed_now(value), value);
    assert_int_equal(half_computed_now((uint32_t)value), (uint32_t)value);
}

static void compare_differences(uint64_t address, uint64_t from, uint64_t word) {
    /* the half word stands at any address */
    struct __attribute__((packed)) {
        char before;
        uint32_t half;
    } at = {0, (uint32_t)word};
    const any_half *half = (const any_half *)((const char *)&at + 1);
    uintptr_t origin = (uintptr_t)from, wanted = (uintptr_t)address - origin - (at.half < LINK_MARK);
    for (unsigned shared = 0; shared < 2; shared++) {
        assert_int_equal(difference_less_borrow_in_c((uintptr_t)address, &origin, shared, half, LINK_MARK), wanted);
#if JW_X86_64_FORMS
        assert_int_equal(difference_less_borrow_in_asm((uintptr_t)address, &origin, shared, half, LINK_MARK), wanted);
#endif
    }
}

static void compare_products(uint64_t value, uint64_t times, uint64_t limit) {
    uintptr_t factor = (uintptr_t)times, most = (uintptr_t)limit;
    bool so = (uintptr_t)value * factor <= most;
    assert_int_equal(product_is_at_most_in_c((uintptr_t)value, &factor, &most), so);
#if JW_X86_64_FORMS
    assert_int_equal(product_is_at_most_in_asm((uintptr_t)value, &factor, &most), so);
#endif
}

/* One word is both. */
static void compare_squares(uint64_t value) {
    uintptr_t word = (uintptr_t)value;
    assert_int_equal(product_is_at_most_in_c(2, &word, &word), (uintptr_t)(2 * word) <= word);
#if JW_X86_64_FORMS
    assert_int_equal(product_is_at_most_in_asm(2, &word, &word), (uintptr_t)(2 * word) <= word);
#endif
}

/* The half word stands in the origin. */
static void compare_overlapping(uint64_t address, uint64_t from, unsigned at) {
    uintptr_t origin = (uintptr_t)from;
    const any_half *half = (const any_half *)((const char *)&origin + at);
    uintptr_t wanted = (uintptr_t)address - origin - (*half < LINK_MARK);
    assert_int_equal(difference_less_borrow_in_c((uintptr_t)address, &origin, false, half, LINK_MARK), wanted);
#if JW_X86_64_FORMS
    assert_int_equal(difference_less_borrow_in_asm((uintptr_t)address, &origin, false, half, LINK_MARK), wanted);
#endif
}

/* What stands beside the count stays; read from memory, as the compiler trusts the assembler's list of outputs. */
static void neighbours_are_kept(const volatile uint16_t *counts) {
    assert_true(counts[0] == 0x8000 && counts[2] == 0x7fff);
}

static void compare_counts(uint64_t start, uint64_t value, uint64_t limit) {
    uint16_t counts[3] = {0x8000, (uint16_t)start, 0x7fff}, left = (uint16_t)(counts[1] - 1);
    uintptr_t most = (uintptr_t)limit;
    bool so = (uintptr_t)value > most || left == 0;
    assert_int_equal(count_down_in_c(&counts[1], (uintptr_t)value, &most), so);
    assert_int_equal(counts[1], left);
    neighbours_are_kept(counts);
#if JW_X86_64_FORMS
    counts[1] = (uint16_t)start;
    assert_int_equal(count_down_in_asm(&counts[1], (uintptr_t)value, &most), so);
    assert_int_equal(counts[1], left);
    neighbours_are_kept(counts);
#endif
}

static void compare(uint64_t a, uint64_t b, uint64_t c) {
    compare_words(a, b);
    compare_differences(a, b, c);
    compare_products(a, b, c);
    compare_products(a, 1, c);
    compare_counts(a, b, c);
    compare_squares(a);
    for (unsigned at = 0; at <= sizeof(uintptr_t) - sizeof(uint32_t); at++) compare_overlapping(a, b, at);
}

static void edges_give_the_same(void **state) {
    (void)state;
    for (unsigned a = 0; a < EDGES; a++)
        for (unsigned b = 0; b < EDGES; b++)
            for (unsigned c = 0; c < EDGES; c++) compare(edges[a], edges[b], edges[c]);
}

/* Of all lengths, and now and then equal or one apart. */
static void random_values_give_the_same(void **state) {
    (void)state;
    uint64_t random = 1;
    for (unsigned i = 0; i < RANDOM; i++) {
        uint64_t a = random_next(&random) >> random_below(&random, 64);
        uint64_t b = random_next(&random) >> random_below(&random, 64);
        uint64_t c = random_next(&random) >> random_below(&random, 64);
        if (random_below(&random, 4) == 0) b = a + random_below(&random, 3) - 1;
        if (random_below(&random, 4) == 0) c = b + random_below(&random, 3) - 1;
        if (random_below(&random, 4) == 0) c = LINK_MARK + random_below(&random, 3) - 1;
        compare(a, b, c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(edges_give_the_same),
                                       cmocka_unit_test(random_values_give_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
