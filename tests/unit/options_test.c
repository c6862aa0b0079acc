/* options_test.c - config/options.h: what is accepted, what is refused with which line, and that refusing changes
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check.h"
#include "config/options.h"
#include "platform/sim.h"

static void apply(const char *text) {
    options_apply("test", text, strlen(text));
}

static void start(void) {
    sim_reset();
#define OPTION(kind, name, initial, least, most, unit, meaning) options.name = default_options.name;
#include "config/options.def"
#undef OPTION
}

static void values_of_every_kind(void **state) {
    (void)state;
    start();
    apply("reclaim_interval:10,reclaim_thread:false,cache_min:3M,reclaim_start:64k,stats:exit,stats_format:json");
    assert_int_equal(options.reclaim_interval, 10);
    assert_int_equal(options.reclaim_thread, THREAD_FALSE);
    assert_int_equal(options.cache_min, 3 << 20);
    assert_int_equal(options.reclaim_start, 64 << 10);
    assert_int_equal(options.stats, STATS_EXIT);
    assert_int_equal(options.stats_format, STATS_JSON);
    assert_string_equal(sim_last_text(), "");
}

static void separators_and_comments(void **state) {
    (void)state;
    start();
    apply("# pool_min:1\n  pool_min:2 # pool_min:3\n\n,,pool_percent:4,\tcache_percent:5\r\n#");
    assert_int_equal(options.pool_min, 2);
    assert_int_equal(options.pool_percent, 4);
    assert_int_equal(options.cache_percent, 5);
    assert_string_equal(sim_last_text(), "");
}

static void bounds_belong_to_the_range(void **state) {
    (void)state;
    start();
    apply("reclaim_interval:10");
    assert_int_equal(options.reclaim_interval, 10);
    apply("reclaim_interval:60000");
    assert_int_equal(options.reclaim_interval, 60000);
    assert_string_equal(sim_last_text(), "");
    apply("reclaim_interval:9");
    apply("reclaim_interval:60001");
    assert_int_equal(options.reclaim_interval, 60000);
}

static void refused(const char *text, const char *line) {
    apply(text);
    assert_string_equal(sim_last_text(), line);
}

static void a_bad_value_says_what_was_expected(void **state) {
    (void)state;
    start();
    refused("reclaim_interval:5",
            "jwmalloc: test: bad value in reclaim_interval:5, expected 10..60000 ms; it stays 500\n");
    refused("reclaim_thread:1",
            "jwmalloc: test: bad value in reclaim_thread:1, expected false|true|auto; it stays auto\n");
    refused("stats:exi", "jwmalloc: test: bad value in stats:exi, expected off|exit; it stays off\n");
    refused("reclaim_start:K", "jwmalloc: test: bad value in reclaim_start:K, expected 0..1G bytes; it stays 128K\n");
    refused("pool_min", "jwmalloc: test: bad value in pool_min:, expected 0..65536 slabs; it stays 8\n");
    refused("pool_min:8K", "jwmalloc: test: bad value in pool_min:8K, expected 0..65536 slabs; it stays 8\n");
    refused("pool_min:-1", "jwmalloc: test: bad value in pool_min:-1, expected 0..65536 slabs; it stays 8\n");
}

static void a_number_does_not_overflow_into_the_range(void **state) {
    (void)state;
    start();
    size_t before = options.cache_min;
    apply("cache_min:18446744073709551617");
    apply("cache_min:16777216T");
    apply("cache_min:99999999999999999999999999999");
    assert_int_equal(options.cache_min, before);
}

static void an_unknown_name_is_told_the_known_ones(void **state) {
    (void)state;
    start();
    apply("pool_mint:1");
    assert_non_null(strstr(sim_last_text(), "unknown option pool_mint:1, ignored; the options are reclaim_interval, "));
    assert_ptr_equal(strchr(sim_last_text(), '\n'), strchr(sim_last_text(), '\0') - 1);
}

static void printed_values_read_back(void **state) {
    (void)state;
    start();
    char text[512];
    struct print_buffer out = {.data = text, .size = sizeof text};
    apply("cache_min:5M,stats:exit,pool_min:77,reclaim_thread:false");
    options_print_values(&out);
    start();
    options_apply("test", text, out.length);
    assert_int_equal(options.cache_min, 5 << 20);
    assert_int_equal(options.stats, STATS_EXIT);
    assert_int_equal(options.pool_min, 77);
    assert_int_equal(options.reclaim_thread, THREAD_FALSE);
    assert_string_equal(sim_last_text(), "");
}

/* The environment comes last, and is read once. */
static void the_environment_is_read_once(void **state) {
    (void)state;
    start();
    assert_int_equal(setenv("JWMALLOC_CONF", "pool_min:7", 1), 0);
    assert_true(options_read());
    assert_int_equal(options.pool_min, 7);
    assert_int_equal(setenv("JWMALLOC_CONF", "pool_min:9", 1), 0);
    assert_false(options_read());
    assert_int_equal(options.pool_min, 7);
    assert_int_equal(unsetenv("JWMALLOC_CONF"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_is_read_once),
        cmocka_unit_test(values_of_every_kind),
        cmocka_unit_test(separators_and_comments),
        cmocka_unit_test(bounds_belong_to_the_range),
        cmocka_unit_test(a_bad_value_says_what_was_expected),
        cmocka_unit_test(a_number_does_not_overflow_into_the_range),
        cmocka_unit_test(an_unknown_name_is_told_the_known_ones),
        cmocka_unit_test(printed_values_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
