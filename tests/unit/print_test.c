/* print_test.c - base/print.h: every conversion at its limits, cutting off without a sink, streaming with one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/print.h"
#include "check.h"

static char data[64];

static struct print_buffer fresh(size_t size) {
    memset(data, 0, sizeof data);
    return (struct print_buffer){.data = data, .size = size};
}

static void numbers_at_their_limits(void **state) {
    (void)state;
    struct print_buffer out = fresh(sizeof data);
    print_unsigned(&out, 0);
    print_text(&out, " ");
    print_unsigned(&out, UINT64_MAX);
    print_text(&out, " ");
    print_hex(&out, 0);
    print_text(&out, " ");
    print_hex(&out, UINT64_MAX);
    assert_string_equal(data, "0 18446744073709551615 0x0 0xffffffffffffffff");
}

static void columns(void **state) {
    (void)state;
    struct print_buffer out = fresh(sizeof data);
    print_text(&out, "ab");
    print_to_column(&out, 4);
    print_unsigned_padded(&out, 7, 3);
    print_to_column(&out, 4); /* it is behind that */
    print_text(&out, "\n");
    print_to_column(&out, 2);
    print_unsigned_padded(&out, 12345, 3);
    assert_string_equal(data, "ab    7\n  12345");
}

static void foreign_bytes_stay_on_one_line(void **state) {
    (void)state;
    struct print_buffer out = fresh(sizeof data);
    print_foreign(&out, "a\n\x1b\xff~", 5, 64);
    print_foreign(&out, "abcdef", 6, 3);
    assert_string_equal(data, "a???~abc...");
}

static void without_a_sink_the_rest_is_cut(void **state) {
    (void)state;
    struct print_buffer out = fresh(4);
    print_text(&out, "abcdef");
    print_flush(&out);
    assert_int_equal(out.length, 4);
    assert_string_equal(data, "abcd");
}

static void gather(void *cookie, const char *text, size_t length) {
    strncat(cookie, text, length);
}

static void with_a_sink_nothing_is_lost(void **state) {
    (void)state;
    char all[64] = "";
    struct print_buffer out = fresh(3);
    out.sink = gather;
    out.cookie = all;
    print_text(&out, "abcdefgh");
    print_unsigned(&out, 1234567890);
    print_flush(&out);
    print_flush(&out); /* nothing is left for the second */
    assert_string_equal(all, "abcdefgh1234567890");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_at_their_limits),        cmocka_unit_test(columns),
        cmocka_unit_test(foreign_bytes_stay_on_one_line), cmocka_unit_test(without_a_sink_the_rest_is_cut),
        cmocka_unit_test(with_a_sink_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
