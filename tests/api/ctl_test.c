/* ctl_test.c - jw_ctl: what is read by name is right, what may be set can be set, and all else is refused; the same by
 * the numbers of a name: jw_ctl_name_to_mib, jw_ctl_by_mib. */
#include "check.h"
#include "jwmalloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MB = 1 << 20, COUNT = 2000 };

static size_t word(const char *name) {
    size_t value = SIZE_MAX, size = sizeof value;
    assert_int_equal(jw_ctl(name, &value, &size, NULL, 0), 0);
    assert_int_equal(size, sizeof value);
    return value;
}

static int set(const char *name, size_t value) {
    return jw_ctl(name, NULL, NULL, &value, sizeof value);
}

static void statistics_follow_objects(void **state) {
    (void)state;
    static void *objects[COUNT];
    size_t allocated = word("stats.allocated"), huge = word("huge.bytes");
    for (int i = 0; i < COUNT; i++) objects[i] = memset(jw_malloc(4096), 1, 4096);
    char *large = jw_malloc(20 * MB);
    size_t now = word("stats.allocated");
    assert_true(now >= allocated + COUNT * 4096 + 20 * MB && now <= allocated + COUNT * 4096 + 24 * MB);
    assert_true(word("huge.bytes") >= huge + 20 * MB);
    assert_true(word("stats.active") >= now);
    assert_true(word("stats.mapped") >= word("stats.active"));
    assert_true(word("stats.resident") >= word("stats.mapped") + word("stats.metadata"));
    assert_true(word("backend.in_use") > 0 && word("backend.roots") > 0);
    jw_free(large);
    for (int i = 0; i < COUNT; i++) jw_free(objects[i]);
    assert_true(word("stats.allocated") <= allocated + MB);
}

static void purge_gives_memory_back(void **state) {
    (void)state;
    static void *objects[COUNT];
    for (int i = 0; i < COUNT; i++) objects[i] = memset(jw_malloc(30000), 1, 30000);
    for (int i = 0; i < COUNT; i++) jw_free(objects[i]);
    assert_int_equal(jw_ctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
    assert_int_equal(jw_ctl("arena.0.purge", NULL, NULL, NULL, 0), 0);
    size_t left = word("stats.mapped") - word("stats.active");
    assert_true(left <= 4 * MB);
    assert_int_equal(jw_ctl("arena.4096.decay", NULL, NULL, NULL, 0), 0);
    uint64_t value;
    size_t size = sizeof value;
    assert_int_equal(jw_ctl("arena.1.purge", &value, &size, NULL, 0), EPERM);
}

/* What jemalloc's sums stand for. Without the thread that gives memory back they stay the same between two calls. */
static void sums_are_those_of_the_tiers(void **state) {
    (void)state;
    assert_int_equal(jw_reclaim_pause(), 0);
    char *huge = memset(jw_malloc(9 * MB), 1, 9 * MB), *large = jw_malloc(MB), *kept = jw_malloc(5000);
    jw_free(large);
    size_t active = word("backend.in_use") + word("huge.bytes"), mapped = active + word("backend.cached_mapped");
    assert_int_equal(word("stats.active"), active);
    assert_int_equal(word("stats.mapped"), mapped);
    assert_int_equal(word("stats.metadata"), word("backend.metadata") + word("frontend.metadata"));
    assert_int_equal(word("stats.resident"), mapped + word("stats.metadata"));
    assert_int_equal(word("stats.retained"), word("backend.cached_unmapped"));
    assert_int_equal(word("stats.allocated"), jw_mallinfo2().uordblks);
    assert_true(word("stats.allocated") >= word("frontend.in_use") + word("midend.in_use") + word("huge.bytes"));
    assert_true(word("stats.committed") >= word("stats.active"));
    assert_int_equal(word("arenas.page"), (size_t)sysconf(_SC_PAGESIZE));
    size_t calls = word("stats.callers_calls");
    jw_free(huge);
    jw_malloc_trim(0);
    assert_true(word("stats.callers_calls") > calls);
    jw_free(kept);
    jw_reclaim_resume();
}

static void epoch_counts(void **state) {
    (void)state;
    uint64_t first, second, any = 1;
    size_t size = sizeof first;
    assert_int_equal(jw_ctl("epoch", &first, &size, &any, sizeof any), 0);
    assert_int_equal(jw_ctl("epoch", &second, &size, &any, sizeof any), 0);
    assert_int_equal(second, first + 1);
    assert_int_equal(jw_ctl("epoch", &second, &size, NULL, 0), 0);
    assert_int_equal(second, first + 1);
}

static bool background(const bool *wanted) {
    bool before = false;
    size_t size = sizeof before;
    assert_int_equal(jw_ctl("background_thread", &before, &size, wanted, wanted != NULL), 0);
    return before;
}

static void background_thread_pauses_and_resumes(void **state) {
    (void)state;
    assert_true(background(NULL));
    assert_true(background(&(bool){false}));
    assert_false(background(&(bool){false}));
    jw_reclaim_resume(); /* one pause, so one resume */
    assert_true(background(&(bool){false}));
    assert_false(background(&(bool){true}));
    assert_true(background(&(bool){true}));
}

static void options_are_read_and_set(void **state) {
    (void)state;
    size_t before = word("opt.reclaim_interval");
    assert_int_equal(set("opt.reclaim_interval", 700), 0);
    assert_int_equal(word("opt.reclaim_interval"), 700);
    assert_int_equal(set("opt.reclaim_interval", 1), EINVAL);
    assert_int_equal(set("opt.reclaim_interval", 60001), EINVAL);
    assert_int_equal(word("opt.reclaim_interval"), 700);
    assert_int_equal(set("opt.reclaim_interval", before), 0);
    assert_int_equal(set("opt.reclaim_thread", 1), EPERM);
    assert_int_equal(set("opt.stats", 1), EPERM);
    assert_int_equal(set("opt.nothing", 1), ENOENT);
}

/* Android's numbers: short, default, long. The short one also gives back what is free now. */
static void a_decay_time_is_an_interval(void **state) {
    (void)state;
    size_t before = word("opt.reclaim_interval");
    assert_int_equal(jw_reclaim_pause(), 0);
    jw_free(memset(jw_malloc(3 * MB), 1, 3 * MB));
    size_t cached = word("backend.cached_mapped");
    assert_int_equal(jw_mallopt(JW_M_DECAY_TIME, 1), 1);
    assert_int_equal(word("opt.reclaim_interval"), 500);
    assert_int_equal(jw_mallopt(JW_M_DECAY_TIME, -1), 1);
    assert_int_equal(word("opt.reclaim_interval"), 60000);
    assert_true(jw_mallopt(JW_M_DECAY_TIME, 2) == 0 && jw_mallopt(JW_M_DECAY_TIME, -2) == 0);
    assert_int_equal(word("opt.reclaim_interval"), 60000);
    assert_int_equal(word("backend.cached_mapped"), cached);
    assert_int_equal(jw_mallopt(JW_M_DECAY_TIME, 0), 1);
    assert_int_equal(word("opt.reclaim_interval"), 10);
    uint64_t quarantine;
    size_t size = sizeof quarantine;
    bool hardened = jw_ctl("opt.quarantine", &quarantine, &size, NULL, 0) == 0; /* where no freed memory has pages */
    size_t parts = 2 * (word("arenas.page") - 4096); /* of pages larger than granules, at both ends */
    assert_true(hardened || (cached >= 3 * MB && word("backend.cached_mapped") + 3 * MB <= cached + parts));
    jw_reclaim_resume();
    assert_int_equal(set("opt.reclaim_interval", before), 0);
}

static void small_values_have_their_types(void **state) {
    (void)state;
    unsigned arenas = 77;
    const char *version = NULL;
    size_t size = sizeof arenas;
    assert_int_equal(jw_ctl("arenas.narenas", &arenas, &size, NULL, 0), 0);
    assert_int_equal(arenas, 1);
    size = sizeof version;
    assert_int_equal(jw_ctl("version", &version, &size, NULL, 0), 0);
    assert_string_equal(version, jw_version());
    assert_int_equal(word("arenas.page") % 4096, 0);
}

static const char *const no_names[] = {
    "",
    "stats",
    "stats.allocated1",
    "stats.1allocated",
    "arena.purge",
    "epoch.",
    "backend",
    "backend.",
    "backend.nothing",
    "thread.allocated",
    "opt.",
    "opt.reclaim_interval.",
    ".in_use",
    "backend..in_use",
    "backend.in_use.",
    ".",
    ".purge",
    "arena.",
    "arena..purge",
    "arena.x.purge",
    "arena.*.purge",
    "arena.0x.purge",
    "arena.-1.purge",
    "arena.2.purge",
    "arena.40960.purge",
    "arena.4294967296.purge",
    "arena.0",
    "arena.0.",
    "arena.0purge",
    "arena.0..purge",
    "arena.0.purge.",
    "arena.0.purge0",
    "arena.0.epoch",
    "arena0.0.purge",
    "arenas9.page",
    "arenas.9page",
    "arenas.0.page",
    "arenas.page.",
    "arenas.page\n",
    "version.",
    "thread.tcache.flush.",
    "a very long name that is in no table of ours, whatever comes after it",
};

static void names_that_are_not_ours_are_refused(void **state) {
    (void)state;
    size_t value = 1, size = sizeof value;
    for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++) {
        assert_int_equal(jw_ctl(no_names[i], &value, &size, NULL, 0), ENOENT);
        assert_int_equal(jw_ctl(no_names[i], NULL, NULL, NULL, 0), ENOENT); /* a thing to do is not done either */
        assert_int_equal(jw_ctl(no_names[i], NULL, NULL, &value, 3), ENOENT);
    }
}

static void wrong_sizes_and_writes_are_refused(void **state) {
    (void)state;
    char small[2] = {7, 7};
    size_t size = 1;
    assert_int_equal(jw_ctl("stats.allocated", small, &size, NULL, 0), EINVAL); /* the part that fits */
    assert_int_equal(small[1], 7);
    assert_int_equal(size, 1);
    assert_int_equal(set("stats.allocated", 1), EPERM);
    assert_int_equal(set("backend.in_use", 1), EPERM);
    assert_int_equal(jw_ctl("epoch", NULL, NULL, small, 2), EINVAL);
    size = 1;
    assert_int_equal(jw_ctl("backend.in_use", small, &size, NULL, 0), EINVAL);
    assert_int_equal(jw_ctl("stats.allocated", NULL, NULL, NULL, 0), 0);
}

/* --- By numbers ------------------------------------------------------------------------------------------------- */

enum { NAMES_MOST = 100, NAME_MOST = 40, DEEPEST = 3 };

static char names[NAMES_MOST][NAME_MOST];
static unsigned name_count;

static void add_name(const char *before, const char *name, size_t length) {
    CHECK(name_count < NAMES_MOST && strlen(before) + length < NAME_MOST);
    snprintf(names[name_count++], NAME_MOST, "%s%.*s", before, (int)length, name);
}

struct text {
    char bytes[1 << 14];
    size_t length;
};

static void append(void *cookie, const char *bytes, size_t length) {
    struct text *text = cookie;
    CHECK(length < sizeof text->bytes - text->length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

/* All names that there are. The options are those of the printed table, but for its head and the path at its end. */
static void list_names(void) {
    static const char *const controls[] = {
#define CONTROL(id, name, depth, type) name,
#include "../../src/api/controls.def"
#undef CONTROL
    };
    static const char *const arenas[] = {"arena.0", "arena.1", "arena.4096"};
    static const char *const fields[] = {
        "frontend.in_use",    "frontend.reserved",        "frontend.given_back",   "frontend.metadata",
        "frontend.heaps",     "frontend.abandoned_heaps", "frontend.pooled_slabs", "midend.in_use",
        "midend.reserved",    "backend.in_use",           "backend.cached_mapped", "backend.cached_unmapped",
        "backend.given_back", "backend.sealed",           "backend.metadata",      "backend.roots",
        "backend.rounds",     "backend.deferred",         "backend.rolled_back",   "backend.sync_reclaims",
        "huge.bytes",         "huge.mapped_total",        "huge.mappings",
    };
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        for (size_t arena = 0; arena < (*controls[i] == '.' ? 3 : 1); arena++)
            add_name(*controls[i] == '.' ? arenas[arena] : "", controls[i], strlen(controls[i]));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) add_name("", fields[i], strlen(fields[i]));
    static struct text options;
    jw_options_print(append, &options);
    for (const char *line = options.bytes; *line != '\0'; line = strchr(line, '\n') + 1)
        if (strncmp(line, "name ", 5) != 0 && strncmp(line, "stats_file ", 11) != 0)
            add_name("opt.", line, strcspn(line, " "));
}

static size_t translate(const char *name, size_t mib[DEEPEST]) {
    size_t length = DEEPEST;
    assert_int_equal(jw_ctl_name_to_mib(name, mib, &length), 0);
    return length;
}

/* Without the thread that gives memory back the values stay the same from one call to the next. */
static void numbers_do_what_their_name_does(void **state) {
    (void)state;
    assert_int_equal(jw_reclaim_pause(), 0);
    for (unsigned i = 0; i < name_count; i++) {
        size_t mib[DEEPEST], length = translate(names[i], mib), dots = 0;
        for (const char *name = names[i]; *name != '\0'; name++) dots += *name == '.';
        assert_int_equal(length, dots + 1);
        for (size_t room = 0; room <= sizeof(uint64_t); room++) {
            uint64_t by_name = 7, by_mib = 7;
            size_t name_size = room, mib_size = room;
            int error = jw_ctl(names[i], &by_name, &name_size, NULL, 0);
            assert_int_equal(jw_ctl_by_mib(mib, length, &by_mib, &mib_size, NULL, 0), error);
            assert_true(by_name == by_mib && name_size == mib_size);
        }
        const char value[3] = {0};
        assert_int_equal(jw_ctl_by_mib(mib, length, NULL, NULL, value, 3), jw_ctl(names[i], NULL, NULL, value, 3));
    }
    jw_reclaim_resume();
}

static void numbers_set_and_do(void **state) {
    (void)state;
    size_t mib[DEEPEST], length = translate("opt.reclaim_interval", mib), before = word("opt.reclaim_interval");
    size_t value = 700, old = 0, size = sizeof old;
    assert_int_equal(jw_ctl_by_mib(mib, length, &old, &size, &value, sizeof value), 0);
    assert_int_equal(old, before);
    assert_int_equal(word("opt.reclaim_interval"), 700);
    assert_int_equal(jw_ctl_by_mib(mib, length, NULL, NULL, &before, sizeof before), 0);
    uint64_t first, second, any = 1;
    size = sizeof first;
    length = translate("epoch", mib);
    assert_int_equal(jw_ctl("epoch", &first, &size, NULL, 0), 0);
    assert_int_equal(jw_ctl_by_mib(mib, length, &second, &size, &any, sizeof any), 0);
    assert_int_equal(second, first + 1);
    length = translate("stats.allocated", mib);
    assert_int_equal(jw_ctl_by_mib(mib, length, NULL, NULL, &value, sizeof value), EPERM);
    size = 1;
    assert_int_equal(jw_ctl_by_mib(mib, length, &old, &size, NULL, 0), EINVAL);
    char *large = memset(jw_malloc(3 * MB), 1, 3 * MB);
    jw_free(large);
    length = translate("thread.tcache.flush", mib);
    assert_int_equal(jw_ctl_by_mib(mib, length, NULL, NULL, NULL, 0), 0);
    length = translate("arena.0.purge", mib);
    assert_int_equal(jw_ctl_by_mib(mib, length, NULL, NULL, NULL, 0), 0);
    assert_true(word("stats.mapped") - word("stats.active") <= 4 * MB);
}

/* As jemalloc's manual has it: the number of an arena stands for itself, and may be another one. */
static void an_arenas_number_may_be_replaced(void **state) {
    (void)state;
    static const size_t others[] = {2, 3, 4095, 4097, SIZE_MAX};
    size_t mib[DEEPEST], all[DEEPEST];
    assert_int_equal(translate("arena.0.purge", mib), 3);
    assert_int_equal(translate("arena.4096.purge", all), 3);
    assert_true(mib[1] == 0 && all[1] == 4096);
    mib[1] = 4096;
    assert_true(memcmp(mib, all, sizeof all) == 0);
    assert_int_equal(jw_ctl_by_mib(mib, 3, NULL, NULL, NULL, 0), 0);
    mib[1] = 1;
    assert_int_equal(jw_ctl_by_mib(mib, 3, NULL, NULL, NULL, 0), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        mib[1] = others[i];
        assert_int_equal(jw_ctl_by_mib(mib, 3, NULL, NULL, NULL, 0), ENOENT);
    }
}

static void a_short_mib_is_the_start(void **state) {
    (void)state;
    for (unsigned i = 0; i < name_count; i++) {
        size_t whole[DEEPEST], length = translate(names[i], whole);
        for (size_t room = 0; room < length; room++) {
            size_t part[DEEPEST] = {77, 77, 77}, count = room;
            assert_int_equal(jw_ctl_name_to_mib(names[i], part, &count), 0);
            assert_int_equal(count, room);
            for (size_t at = 0; at < DEEPEST; at++) assert_true(part[at] == (at < room ? whole[at] : 77));
            assert_int_equal(jw_ctl_by_mib(part, room, NULL, NULL, NULL, 0), ENOENT);
        }
    }
}

static void no_other_names_and_numbers(void **state) {
    (void)state;
    size_t mib[DEEPEST + 1] = {77, 77, 77, 77}, length = DEEPEST;
    for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++) {
        assert_int_equal(jw_ctl_name_to_mib(no_names[i], mib, &length), ENOENT);
        assert_true(length == DEEPEST && mib[0] == 77 && mib[1] == 77 && mib[2] == 77);
    }
    assert_int_equal(jw_ctl_by_mib(mib, 0, NULL, NULL, NULL, 0), ENOENT);
    assert_int_equal(jw_ctl_by_mib(NULL, 0, NULL, NULL, NULL, 0), ENOENT);
    assert_int_equal(jw_ctl_by_mib(mib, SIZE_MAX, NULL, NULL, NULL, 0), ENOENT);
    /* Of all small numbers and three large ones, as many do something as there are names, and each name has its own. */
    enum { SMALL = 40, KINDS = SMALL + 3 };
    const size_t large[] = {4096, SIZE_MAX / 2 + 1, SIZE_MAX};
    unsigned known = 0;
    for (length = 1; length <= DEEPEST + 1; length++) {
        size_t combinations = 1;
        for (size_t i = 0; i < length && i < DEEPEST; i++) combinations *= KINDS;
        for (size_t combination = 0; combination < combinations; combination++) {
            size_t rest = combination;
            for (size_t i = 0; i < DEEPEST; rest /= KINDS, i++)
                mib[i] = rest % KINDS < SMALL ? rest % KINDS : large[rest % KINDS - SMALL];
            mib[DEEPEST] = 0;
            known += jw_ctl_by_mib(mib, length, NULL, NULL, NULL, 0) != ENOENT;
        }
    }
    assert_int_equal(known, name_count);
    for (unsigned i = 0; i < name_count; i++)
        for (unsigned other = 0; other < i; other++) {
            size_t one[DEEPEST], another[DEEPEST], depth = translate(names[i], one);
            assert_true(translate(names[other], another) != depth || memcmp(one, another, depth * sizeof *one) != 0);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_follow_objects),
        cmocka_unit_test(purge_gives_memory_back),
        cmocka_unit_test(sums_are_those_of_the_tiers),
        cmocka_unit_test(epoch_counts),
        cmocka_unit_test(background_thread_pauses_and_resumes),
        cmocka_unit_test(options_are_read_and_set),
        cmocka_unit_test(a_decay_time_is_an_interval),
        cmocka_unit_test(small_values_have_their_types),
        cmocka_unit_test(names_that_are_not_ours_are_refused),
        cmocka_unit_test(wrong_sizes_and_writes_are_refused),
        cmocka_unit_test(numbers_do_what_their_name_does),
        cmocka_unit_test(numbers_set_and_do),
        cmocka_unit_test(an_arenas_number_may_be_replaced),
        cmocka_unit_test(a_short_mib_is_the_start),
        cmocka_unit_test(no_other_names_and_numbers),
    };
    list_names();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
