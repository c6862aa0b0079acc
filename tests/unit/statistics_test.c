/* statistics_test.c - the report: each value stands where it belongs in text, JSON and XML, and is the heap's. */
#include "heap_players.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/mapping_cache.h"
#include "jwmalloc.h"
#include "midend/mid_shapes.h"
#include "statistics/statistics.h"

static const char *program = "a program";

const char *__wrap_platform_program(void);
uint32_t __wrap_platform_process_id(void);
uint64_t __wrap_platform_seconds(void);

const char *__wrap_platform_program(void) {
    return program;
}

uint32_t __wrap_platform_process_id(void) {
    return 4711;
}

uint64_t __wrap_platform_seconds(void) {
    return 1234567890123;
}

enum { TEXT_SIZE = 1 << 16, PIECE_MOST = 1024 };

struct text {
    char bytes[TEXT_SIZE];
    size_t length;
};

/* A sink may write an end mark behind its piece. */
static void collect(void *cookie, const char *piece, size_t length) {
    struct text *text = cookie;
    CHECK(length > 0 && length <= PIECE_MOST && text->length + length < TEXT_SIZE);
    memcpy(text->bytes + text->length, piece, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    ((char *)piece)[length] = '\0';
}

/* --- What is expected, by printf -------------------------------------------------------------------------------- */

static struct text expected;
static enum statistics_form form;
static bool first;

static void __attribute__((format(printf, 1, 2))) put(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(expected.bytes + expected.length, sizeof expected.bytes - expected.length, format, arguments);
    va_end(arguments);
    CHECK(length >= 0);
    expected.length += (size_t)length;
}

static void put_number(const char *name, uint64_t value, bool bytes) {
    char spaced[40];
    snprintf(spaced, sizeof spaced, "%s", name);
    for (char *at = spaced; *at != '\0'; at++)
        if (*at == '_') *at = ' ';
    const char *unit = bytes ? " bytes" : "";
    if (form == AS_TEXT) put("  %-18s%14llu%s\n", spaced, (unsigned long long)value, unit);
    if (form == AS_JSON) put("%s\"%s\":%llu", first ? "" : ",", name, (unsigned long long)value);
    if (form == AS_XML) put("<%s>%llu</%s>", name, (unsigned long long)value, name);
    first = false;
}

static void put_open(const char *name, const char *about) {
    if (form == AS_TEXT && about) put("%s: %s\n", name, about);
    if (form == AS_JSON) put(",\"%s\":%c", name, about ? '{' : '[');
    if (form == AS_XML) put("<%s>", name);
    first = true;
}

static void put_close(const char *name, char bracket) {
    if (form == AS_JSON) put("%c", bracket);
    if (form == AS_XML) put("</%s>", name);
    first = false;
}

static void put_row(const char *const *names, const uint64_t *values, unsigned columns) {
    if (form == AS_JSON) put(first ? "{" : ",{");
    if (form == AS_XML) put("<class>");
    first = true;
    for (unsigned i = 0; i < columns; i++) {
        if (form != AS_TEXT) put_number(names[i], values[i], false);
        else if (values[1] + values[2] > 0)
            put("%14llu%s", (unsigned long long)values[i], i == columns - 1 ? "\n" : "");
    }
    put_close("class", '}');
}

static void put_slabs(const struct slab_class_statistics *classes, unsigned count) {
    static const char *const names[] = {"size", "slabs", "objects", "capacity"};
    if (form == AS_TEXT) put("%14s%14s%14s%14s\n", names[0], names[1], names[2], names[3]);
    put_open("classes", NULL);
    for (unsigned i = 0; i < count; i++) put_row(names, &classes[i].size, 4);
    put_close("classes", ']');
}

static void put_frontend(const struct frontend_statistics *s) {
    put_open("frontend", "small objects in slabs of one granule, per thread");
    put_number("in_use", s->in_use, true);
    put_number("reserved", s->reserved, true);
    put_number("given_back", s->given_back, true);
    put_number("metadata", s->metadata, true);
    put_number("heaps", s->heaps, false);
    put_number("abandoned_heaps", s->abandoned_heaps, false);
    put_number("pooled_slabs", s->pooled_slabs, false);
    put_slabs(s->classes, s->class_count);
    put_close("frontend", '}');
}

static void put_midend(const struct midend_statistics *s) {
    put_open("midend", "middle-sized objects in slabs of several granules");
    put_number("in_use", s->in_use, true);
    put_number("reserved", s->reserved, true);
    put_slabs(s->classes, s->class_count);
    put_close("midend", '}');
}

static void put_backend(const struct backend_statistics *s) {
    static const char *const names[] = {"granules", "mapped_ranges", "unmapped_ranges"};
    put_open("backend", "ranges of granules: large objects, and both tiers' slabs");
    put_number("in_use", s->in_use, true);
    put_number("cached_mapped", s->cached_mapped, true);
    put_number("cached_unmapped", s->cached_unmapped, true);
    put_number("given_back", s->given_back, true);
    put_number("sealed", s->sealed, true);
    put_number("metadata", s->metadata, true);
    put_number("roots", s->roots, false);
    put_number("rounds", s->rounds, false);
    put_number("deferred", s->deferred, false);
    put_number("rolled_back", s->rolled_back, false);
    put_number("sync_reclaims", s->sync_reclaims, false);
    if (s->class_count > 0) {
        if (form == AS_TEXT) put(" granules from   free mapped free unmapped\n");
        put_open("classes", NULL);
        for (unsigned i = 0; i < s->class_count; i++) put_row(names, &s->classes[i].granules, 3);
        put_close("classes", ']');
    }
    put_close("backend", '}');
}

static void put_report(const struct statistics *s, const char *shown) {
    expected.length = 0;
    if (form == AS_TEXT) put("jwmalloc %s in %s\n", JW_VERSION, shown);
    if (form == AS_JSON) put("{\"version\":\"%s\",\"program\":\"%s\"", JW_VERSION, shown);
    if (form == AS_XML) put("<malloc version=\"jwmalloc-%s\"><program>%s</program>", JW_VERSION, shown);
    first = false;
    put_number("pid", s->process.pid, false);
    put_number("time", s->process.time, false);
    put_number("resident", s->process.resident, true);
    put_number("peak", s->process.peak, true);
    put_number("objects", s->process.objects, false);
    put_number("in_objects", s->objects + s->huge.bytes, true);
    put_number("system_calls", s->system_calls, false);
    put_frontend(&s->frontend);
    put_midend(&s->midend);
    put_backend(&s->backend);
    put_open("huge", "objects with a mapping of their own");
    put_number("bytes", s->huge.bytes, true);
    put_number("mapped_total", s->huge.mapped_total, true);
    put_number("mappings", s->huge.mappings, false);
    put_close("huge", '}');
    put("%s", form == AS_TEXT ? "" : form == AS_JSON ? "}\n" : "</malloc>\n");
}

static void check_report(const struct statistics *s, const char *shown) {
    static struct text got;
    got.length = 0;
    put_report(s, shown);
    statistics_print(collect, &got, form, s);
    assert_string_equal(got.bytes, expected.bytes);
}

/* Each value differs from all others, and they have all lengths. */
static struct statistics distinct(void) {
    struct statistics s;
    uint64_t value = 1, *words = (uint64_t *)&s;
    for (size_t i = 0; i < sizeof s / sizeof *words; i++) words[i] = value = value * 3 + i;
    s.frontend.class_count = 3;
    s.midend.class_count = 2;
    s.backend.class_count = 4;
    return s;
}

static void each_value_is_in_its_place(void **state) {
    (void)state;
    struct statistics s = distinct();
    s.frontend.classes[1].slabs = s.frontend.classes[1].objects = 0; /* the text leaves such a class out */
    s.frontend.classes[2].slabs = 0;
    s.midend.classes[0].objects = 0;
    s.backend.classes[0].mapped_ranges = s.backend.classes[0].unmapped_ranges = 0;
    s.backend.classes[1].mapped_ranges = 0;
    s.backend.classes[2].unmapped_ranges = 0;
    for (form = AS_TEXT; form <= AS_XML; form++) check_report(&s, "a program");
    s.backend.class_count = 0;
    for (form = AS_TEXT; form <= AS_XML; form++) check_report(&s, "a program");
}

/* A program chooses its name. No byte of it may end a string or begin a tag, and a long name is cut. */
static void any_program_name_is_harmless(void **state) {
    (void)state;
    static char long_name[201], cut[128 + 4];
    struct statistics s = distinct();
    program = "/@AZ[`az{09:/._+-@~ \"<>&'\\\x7f\xc3\x1b\n";
    form = AS_TEXT;
    check_report(&s, "/@AZ[`az{09:/._+-@~ \"<>&'\\????");
    for (form = AS_JSON; form <= AS_XML; form++)
        check_report(&s, "/@AZ??az?09:/._+-@~ ?????"
                         "?????");
    memset(long_name, 'n', 200);
    program = long_name;
    form = AS_TEXT;
    memset(cut, 'n', 128);
    memcpy(cut + 128, "...", 4);
    check_report(&s, cut);
    cut[127] = '\0';
    for (form = AS_JSON; form <= AS_XML; form++) check_report(&s, cut);
    program = "";
    for (form = AS_TEXT; form <= AS_XML; form++) check_report(&s, "");
    program = "a program";
}

/* --- What is gathered ------------------------------------------------------------------------------------------- */

static void check_process(const char *file, uint64_t resident, uint64_t peak) {
    struct statistics s;
    sim_set_file(file);
    statistics_gather_report(&s);
    sim_set_file(NULL);
    assert_int_equal(s.process.pid, 4711);
    assert_int_equal(s.process.time, 1234567890123);
    assert_int_equal(s.process.resident, resident);
    assert_int_equal(s.process.peak, peak);
}

static void the_system_tells_of_the_process(void **state) {
    (void)state;
    start();
    check_process(NULL, 0, 0);
    check_process("", 0, 0);
    check_process("Name:\tVmRSS: 7 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1903 kB\nVmData:\t 5 kB\n", 1903 << 10,
                  2048 << 10);
    check_process("x\nVmRSS:90 kB\nVmHWM:\t \t 4194304 kB\n", 90 << 10, 1ull << 32);
    check_process("x\nVmHWM:\nVmRSS:\t:09/", 0, 0);
    finish();
}

enum { SMALLS = 100, MIDS = 12, LARGES = 3 };
static void *small[SMALLS], *mid[MIDS], *large[LARGES], *huge;
static size_t small_bytes, mid_bytes, large_bytes;

static void allocate_all(void) {
    small_bytes = mid_bytes = large_bytes = 0;
    for (unsigned i = 0; i < SMALLS; i++) small_bytes += object_size(small[i] = allocate_as(i % 2, 1 + 20 * i));
    for (unsigned i = 0; i < MIDS; i++)
        mid_bytes += object_size(mid[i] = allocate_as(i % 3, FRONTEND_MAX + 1 + 900 * i));
    for (unsigned i = 0; i < LARGES; i++)
        large_bytes += object_size(large[i] = allocate_as(0, BACKEND_MIN + 50000 * i));
    huge = allocate_as(0, BACKEND_MAX + 1);
}

/* Of the small ones one in two is freed by another heap's thread. */
static void free_every_other(void) {
    for (unsigned i = 0; i < SMALLS; i += 2) {
        small_bytes -= object_size(small[i]);
        free_as(i % 4 / 2, small[i]);
    }
    for (unsigned i = 0; i < MIDS; i += 2) {
        mid_bytes -= object_size(mid[i]);
        free_as(1, mid[i]);
    }
    for (unsigned i = 0; i < LARGES; i += 2) {
        large_bytes -= object_size(large[i]);
        free_as(i % 3, large[i]);
    }
}

static void free_the_rest(void) {
    for (unsigned i = 1; i < SMALLS; i += 2) free_as(1, small[i]);
    for (unsigned i = 1; i < MIDS; i += 2) free_as(2, mid[i]);
    for (unsigned i = 1; i < LARGES; i += 2) free_as(0, large[i]);
    free_as(0, huge);
}

/* Each slab is one of its class, and has the class's objects. */
static void check_slabs(const struct statistics *s) {
    uint64_t small_slabs = 0, mid_granules = 0;
    for (unsigned i = 0; i < s->frontend.class_count; i++) {
        const struct slab_class_statistics *class = &s->frontend.classes[i];
        assert_int_equal(class->capacity, class->slabs * size_class_capacity(i));
        small_slabs += class->slabs;
    }
    for (unsigned i = 0; i < s->midend.class_count; i++) {
        const struct slab_class_statistics *class = &s->midend.classes[i];
        assert_int_equal(class->capacity, class->slabs * mid_shapes[i].count);
        mid_granules += class->slabs * mid_shapes[i].weight;
    }
    assert_int_equal(s->frontend.reserved, small_slabs * GRANULE_SIZE);
    assert_int_equal(s->midend.reserved, mid_granules * GRANULE_SIZE);
}

static void check_gathered(uint64_t number, uint64_t idle, uint64_t mapped_before) {
    struct statistics s;
    statistics_gather_report(&s);
    check_slabs(&s);
    assert_int_equal(s.process.objects, number);
    assert_int_equal(s.frontend.in_use, small_bytes);
    assert_int_equal(s.midend.in_use, mid_bytes);
    assert_int_equal(s.objects - idle, large_bytes + small_bytes + mid_bytes);
    assert_int_equal(s.huge.bytes, object_size(huge));
    assert_int_equal(s.huge.mapped_total - mapped_before, object_size(huge));
    assert_int_equal(s.huge.mappings, 1);
    assert_int_equal(s.frontend.heaps + s.frontend.abandoned_heaps, heap_count());
    assert_true(s.backend.in_use >= s.frontend.reserved + s.midend.reserved + large_bytes);
    assert_true(s.frontend.reserved >= small_bytes && s.midend.reserved >= mid_bytes);
    assert_int_equal(s.system_calls, platform_system_calls());
    assert_int_equal(s.backend.in_use + s.backend.cached_mapped + s.backend.cached_unmapped,
                     root_count() * ROOT_SIZE + mapping_cache_bytes());
}

/* Objects of all tiers, by their sizes: only these are in use, whatever waits in lists and caches. */
static void what_is_gathered_is_the_heaps(void **state) {
    (void)state;
    struct statistics s;
    start();
    statistics_gather_report(&s);
    assert_int_equal(s.process.objects, 0);
    uint64_t idle = s.objects, mapped_before = s.huge.mapped_total;
    allocate_all();
    check_gathered(SMALLS + MIDS + 1, idle, mapped_before);
    free_every_other();
    check_gathered(SMALLS / 2 + MIDS / 2 + 1, idle, mapped_before);
    free_the_rest();
    statistics_gather_report(&s);
    assert_int_equal(s.process.objects, 0);
    assert_int_equal(s.objects, idle);
    assert_int_equal(s.frontend.in_use + s.midend.in_use + s.huge.bytes + s.huge.mappings, 0);
    finish();
}

static void each_field_is_found_by_its_name(void **state) {
    (void)state;
    static const char *const names[] = {"frontend.in_use", "frontend.pooled_slabs", "midend.in_use", "midend.reserved",
                                        "backend.in_use",  "backend.sync_reclaims", "huge.bytes",    "huge.mappings"};
    static const char *const others[] = {"",        "frontend",      "frontend.",      "frontend.pid",    "process.pid",
                                         "pid",     ".pid",          "huge.in_use",    "huge.byte",       "huge.bytes2",
                                         "midend ", "midend_in_use", "fronten.in_use", "frontends.in_use"};
    size_t number, value, before = SIZE_MAX;
    start();
    void *object = allocate_as(0, BACKEND_MAX + 1);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(statistics_find(names[i], &number));
        assert_true(number != before);
        before = number;
        assert_int_equal(statistics_read(number, &value), 0);
        if (i == 6) assert_int_equal(value, object_size(object));
        if (i == 7) assert_int_equal(value, 1);
    }
    assert_int_equal(number, 22); /* the last one: those of the process come behind it */
    for (size_t none = number + 1; none < number + 40; none++) assert_int_equal(statistics_read(none, &value), ENOENT);
    assert_int_equal(statistics_read(SIZE_MAX, &value), ENOENT);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) assert_false(statistics_find(others[i], &number));
    free_as(0, object);
    finish();
}

/* What a child prints as it ends. */
static void print_of_a_child(unsigned when, unsigned format, char *text, size_t size) {
    int ends[2], status;
    size_t length = 0;
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        options.stats = when;
        options.stats_format = format;
        dup2(ends[1], STDERR_FILENO);
        exit(0);
    }
    close(ends[1]);
    for (ssize_t got; length < size - 1 && (got = read(ends[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void a_report_at_exit_if_it_is_asked_for(void **state) {
    (void)state;
    static char text[TEXT_SIZE];
    start();
    print_of_a_child(STATS_EXIT, STATS_TEXT, text, sizeof text);
    assert_true(strncmp(text, "jwmalloc " JW_VERSION " in a program\n", strlen(JW_VERSION) + 23) == 0);
    print_of_a_child(STATS_EXIT, STATS_JSON, text, sizeof text);
    assert_true(text[0] == '{' && strcmp(text + strlen(text) - 3, "}}\n") == 0);
    print_of_a_child(STATS_OFF, STATS_TEXT, text, sizeof text);
    assert_string_equal(text, "");
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_in_its_place),      cmocka_unit_test(any_program_name_is_harmless),
        cmocka_unit_test(the_system_tells_of_the_process), cmocka_unit_test(what_is_gathered_is_the_heaps),
        cmocka_unit_test(each_field_is_found_by_its_name), cmocka_unit_test(a_report_at_exit_if_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
