/* options_test.c - config/options.h: what is accepted, what is refused with which line, and that refusing changes
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "config/options.h"
#include "platform/sim.h"

/* What the platform is asked for and told, instead of its own. */
char **__real_platform_environment(void);
char **__wrap_platform_environment(void);
bool __wrap_platform_is_privileged(void);
void __wrap_platform_end_names(void);
void __wrap_platform_keep_output(const char *report);

static bool no_environment, privileged, names_ended;
static const char *kept_output;
static unsigned outputs_kept;

char **__wrap_platform_environment(void) {
    return no_environment ? NULL : __real_platform_environment();
}

bool __wrap_platform_is_privileged(void) {
    return privileged;
}

void __wrap_platform_end_names(void) {
    names_ended = true;
}

void __wrap_platform_keep_output(const char *report) {
    kept_output = report;
    outputs_kept++;
}

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

static void low_memory_is_a_set_that_later_items_change(void **state) {
    (void)state;
    struct options before = options;
    apply("low_memory:false");
    assert_int_equal(memcmp(&options, &before, sizeof before), 0);
    apply("cache_min:1G,low_memory:true,pool_min:7");
    assert_int_equal(options.reclaim_interval, 200);
    assert_int_equal(options.cache_min, 512 << 10);
    assert_int_equal(options.cache_percent, 10);
    assert_int_equal(options.pool_min, 7);
    assert_int_equal(options.pool_percent, 2);
    assert_int_equal(options.pool_total, 256 << 10);
    options = before;
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

/* --- All rows, by the same table -------------------------------------------------------------------------------- */

enum { NUMBER, SIZE, BOOL, CHOICE };

static const struct {
    const char *name, *unit, *meaning;
    uint64_t initial, least, most;
    unsigned kind;
    _Atomic(size_t) *value;
} table[] = {
#define OPTION(kind, name, initial, least, most, unit, meaning)                                                        \
    {#name, unit, meaning, (uint64_t)(initial), (uint64_t)(least), (uint64_t)(most), kind, &options.name},
#include "config/options.def"
#undef OPTION
};

enum { OPTIONS = sizeof table / sizeof *table };

static size_t cut(uint64_t value) {
    return value < SIZE_MAX ? (size_t)value : SIZE_MAX;
}

/* The choices' names, one behind the other. */
static const char *choice(const char *names, uint64_t number, char *text) {
    for (; number > 0; number--) names = strchr(names, '|') + 1;
    snprintf(text, 20, "%.*s", (int)strcspn(names, "|"), names);
    return text;
}

static const char *shown(unsigned i, uint64_t value, char *text) {
    static const char letters[][2] = {"", "K", "M", "G", "T"};
    unsigned step = 0;
    if (table[i].kind == BOOL) return value ? "true" : "false";
    if (table[i].kind == CHOICE) return choice(table[i].unit, value, text);
    while (table[i].kind == SIZE && step < 4 && value > 0 && value % 1024 == 0) step++, value /= 1024;
    snprintf(text, 30, "%llu%s", (unsigned long long)value, letters[step]);
    return text;
}

/* The columns of the printed table, and what goes beyond one of them. */
static void the_table_has_a_line_for_each_option(void **state) {
    (void)state;
    static char got[1 << 14];
    char wanted[300], initial[40], least[40], most[40], range[100];
    struct print_buffer out = {.data = got, .size = sizeof got - 1};
    options_print(&out);
    char *line = strchr(got, '\n') + 1;
    assert_true(strncmp(got, "name              default   range            unit                      meaning\n", 79) ==
                0);
    for (unsigned i = 0; i < OPTIONS; i++) {
        if (table[i].kind < BOOL)
            snprintf(range, sizeof range, "%s..%s", shown(i, table[i].least, least), shown(i, table[i].most, most));
        else snprintf(range, sizeof range, "%s", table[i].kind == BOOL ? "true|false" : table[i].unit);
        snprintf(wanted, sizeof wanted, "%-18s%-10s%-17s%-26s%s\n", table[i].name, shown(i, table[i].initial, initial),
                 range, table[i].kind < BOOL ? table[i].unit : "-", table[i].meaning);
        assert_true(strncmp(line, wanted, strlen(wanted)) == 0);
        line += strlen(wanted);
    }
    assert_true(strncmp(line, "stats_file        -         a path ", 35) == 0);
    assert_ptr_equal(strchr(line, '\n') + 1, strchr(line, '\0'));
}

/* The least and the most value of each option are taken, what is beyond them is refused. */
static void each_option_has_its_range(void **state) {
    (void)state;
    char text[100], value[40];
    for (unsigned i = 0; i < OPTIONS; i++) {
        start();
        uint64_t ends[] = {table[i].least, table[i].most};
        for (unsigned end = 0; end < 2; end++) {
            snprintf(text, sizeof text, "%s=%s", table[i].name, shown(i, ends[end], value));
            apply(text);
            assert_int_equal(*table[i].value, cut(ends[end]));
        }
        assert_string_equal(sim_last_text(), "");
        if (table[i].kind < BOOL)
            snprintf(text, sizeof text, "%s:%llu", table[i].name, (unsigned long long)ends[1] + 1);
        else snprintf(text, sizeof text, "%s:%s|", table[i].name, value);
        apply(text);
        assert_int_equal(*table[i].value, cut(ends[1]));
        assert_non_null(strstr(sim_last_text(), "bad value in "));
    }
}

/* What jw_ctl may do with each. */
static void each_option_is_exchanged_by_its_number(void **state) {
    (void)state;
    size_t number, value, wanted;
    start();
    bool changes = true; /* those of kind NUMBER or SIZE before stats */
    for (unsigned i = 0; i < OPTIONS; i++) {
        assert_true(options_find(table[i].name, &number));
        assert_int_equal(number, i);
        if (strcmp(table[i].name, "stats") == 0) changes = false;
        assert_int_equal(options_exchange(i, &value, NULL), 0);
        assert_int_equal(value, table[i].initial);
        bool may = changes && table[i].kind < BOOL;
        wanted = cut(table[i].most);
        assert_int_equal(options_exchange(i, &value, &wanted), may ? 0 : EPERM);
        assert_int_equal(value, table[i].initial); /* the old one */
        assert_int_equal(*table[i].value, may ? wanted : table[i].initial);
        if (++wanted != 0) assert_int_equal(options_exchange(i, &value, &wanted), may ? EINVAL : EPERM);
        wanted = (size_t)table[i].least;
        assert_int_equal(options_exchange(i, &value, &wanted), may ? 0 : EPERM);
        wanted--;
        if (wanted < table[i].least) assert_int_equal(options_exchange(i, &value, &wanted), may ? EINVAL : EPERM);
        assert_int_equal(*table[i].value, may ? table[i].least : table[i].initial);
    }
    assert_int_equal(options_exchange(OPTIONS, &value, NULL), ENOENT);
    assert_int_equal(options_exchange(SIZE_MAX, &value, NULL), ENOENT);
    assert_false(options_find("stats_file", &number) || options_find("", &number) || options_find("stat", &number));
    start();
}

static void suffixes_and_digits(void **state) {
    (void)state;
    start();
    static const struct {
        const char *text;
        uint64_t value;
    } sizes[] = {{"0", 0},
                 {"1", 1},
                 {"1023", 1023},
                 {"1k", 1 << 10},
                 {"3K", 3 << 10},
                 {"7m", 7 << 20},
                 {"5G", 5ull << 30},
                 {"1g", 1 << 30},
                 {"1T", 1ull << 40},
                 {"1t", 1ull << 40},
                 {"0T", 0},
                 {"0001M", 1 << 20},
                 {"1099511627776", 1ull << 40}};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[64];
        snprintf(text, sizeof text, "cache_min:%s", sizes[i].text);
        apply(text);
        assert_int_equal(options.cache_min, cut(sizes[i].value));
        assert_string_equal(sim_last_text(), "");
    }
    static const char *const others[] = {"",
                                         "K",
                                         "1KK",
                                         "1B",
                                         "1P",
                                         "k1",
                                         "1 ",
                                         "+1",
                                         "1/",
                                         "1:",
                                         "1.",
                                         "0x1",
                                         "1025G",
                                         "1099511627777",
                                         "18446744073709551616",
                                         "18014398509481984K"};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        char text[64];
        snprintf(text, sizeof text, "cache_min:%s", others[i]);
        options.cache_min = 77;
        apply(text);
        assert_int_equal(options.cache_min, strcmp(others[i], "1 ") == 0 ? 1 : 77);
    }
}

static void a_long_item_is_cut(void **state) {
    (void)state;
    static char text[400], wanted[400];
    start();
    memset(text, 'x', 300);
    text[65] = ':';
    apply(text);
    snprintf(wanted, sizeof wanted, "jwmalloc: test: unknown option %.64s...:%.64s..., ignored; the options are ", text,
             text + 66);
    assert_true(strncmp(sim_last_text(), wanted, strlen(wanted)) == 0);
    apply("x\x1b:\xff");
    assert_non_null(strstr(sim_last_text(), "unknown option x?:?, ignored"));
}

static void every_known_name_is_told(void **state) {
    (void)state;
    static char wanted[1000];
    start();
    int length = snprintf(wanted, sizeof wanted, "jwmalloc: test: unknown option x:, ignored; the options are");
    for (unsigned i = 0; i < OPTIONS; i++)
        length += snprintf(wanted + length, sizeof wanted - (size_t)length, "%s %s", i > 0 ? "," : "", table[i].name);
    snprintf(wanted + length, sizeof wanted - (size_t)length, ", stats_file\n");
    refused("x", wanted);
}

static void a_path_of_at_most_255_bytes(void **state) {
    (void)state;
    static char text[400];
    start();
    size_t length = (size_t)snprintf(text, sizeof text, "stats_file=");
    apply("stats_file:/a/path=b:c,pool_min:3");
    assert_string_equal(options_stats_file, "/a/path=b:c");
    assert_int_equal(options.pool_min, 3);
    memset(text + length, 'p', 256);
    apply(text);
    assert_string_equal(options_stats_file, "/a/path=b:c");
    assert_non_null(strstr(sim_last_text(), "jwmalloc: test: bad value in stats_file:pppp"));
    assert_non_null(strstr(sim_last_text(), "ppp..., expected a path of at most 255 bytes; ignored\n"));
    text[length + 255] = '\0';
    apply(text);
    assert_string_equal(options_stats_file, text + length);
    sim_reset();
    refused("stats_file", "jwmalloc: test: bad value in stats_file:, expected a path of at most 255 bytes; ignored\n");
    static char printed[1500];
    struct print_buffer out = {.data = printed, .size = sizeof printed - 1};
    strcpy(options_stats_file, "/short");
    options_print_values(&out);
    assert_string_equal(strrchr(printed, ','), ",stats_file:/short");
    assert_true(strncmp(printed, "reclaim_interval:500,reclaim_thread:auto,", 41) == 0);
    *options_stats_file = '\0';
}

/* --- What the start does with them: once, so each case is a child's --------------------------------------------- */

static bool read_with(const char *environment) {
    setenv("JWMALLOC_CONF", environment, 1);
    setenv("JWMALLOC_CONF2", "pool_min:9", 1);
    return options_read();
}

static bool nothing_asked(void) {
    return read_with("pool_min:5") && options.pool_min == 5 && !names_ended && outputs_kept == 0 && !*sim_last_text();
}

static bool not_for_the_privileged(void) {
    privileged = true;
    return read_with("pool_min:5") && options.pool_min == default_options.pool_min;
}

static bool an_environment_is_awaited(void) {
    no_environment = true;
    if (read_with("pool_min:5") || options.pool_min == 5) return false;
    no_environment = false;
    return read_with("pool_min:6") && options.pool_min == 6;
}

static bool names_end(void) {
    return read_with("mapping_names:false") && names_ended;
}

static bool values_are_confirmed(void) {
    static const char begin[] = "jwmalloc: options in force: reclaim_interval:500,";
    static const char end[] = ",confirm:true,init:none\n";
    const char *text = sim_last_text();
    return read_with("confirm:true") && strncmp(text, begin, sizeof begin - 1) == 0 &&
           strcmp(text + strlen(text) - sizeof end + 1, end) == 0;
}

static bool output_is_kept(void) {
    return read_with("stats:exit") && outputs_kept == 1 && kept_output == NULL;
}

static bool a_file_is_kept(void) {
    return read_with("stats:exit,stats_file:/x") && outputs_kept == 1 && strcmp(kept_output, "/x") == 0;
}

static bool no_file_without_statistics(void) {
    return read_with("stats_file:/x") && outputs_kept == 0;
}

static void each_start(void **state) {
    (void)state;
    static bool (*const cases[])(void) = {nothing_asked,  not_for_the_privileged,    an_environment_is_awaited,
                                          names_end,      values_are_confirmed,      output_is_kept,
                                          a_file_is_kept, no_file_without_statistics};
    start();
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(!cases[i]());
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0) printf("case %u\n", i);
        assert_int_equal(status, 0);
    }
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
        cmocka_unit_test(each_start),
        cmocka_unit_test(the_environment_is_read_once),
        cmocka_unit_test(the_table_has_a_line_for_each_option),
        cmocka_unit_test(each_option_has_its_range),
        cmocka_unit_test(each_option_is_exchanged_by_its_number),
        cmocka_unit_test(suffixes_and_digits),
        cmocka_unit_test(a_long_item_is_cut),
        cmocka_unit_test(every_known_name_is_told),
        cmocka_unit_test(a_path_of_at_most_255_bytes),
        cmocka_unit_test(values_of_every_kind),
        cmocka_unit_test(low_memory_is_a_set_that_later_items_change),
        cmocka_unit_test(separators_and_comments),
        cmocka_unit_test(bounds_belong_to_the_range),
        cmocka_unit_test(a_bad_value_says_what_was_expected),
        cmocka_unit_test(a_number_does_not_overflow_into_the_range),
        cmocka_unit_test(an_unknown_name_is_told_the_known_ones),
        cmocka_unit_test(printed_values_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
