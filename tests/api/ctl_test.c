/* ctl_test.c - jw_ctl: what is read by name is right, what may be set can be set, and all else is refused. */
#include "check.h"
#include "jwmalloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
    assert_int_equal(jw_ctl("stats.allocated", small, &size, NULL, 0), EINVAL); /* as much as there is room for */
    assert_int_equal(small[1], 7);
    assert_int_equal(size, 1);
    assert_int_equal(set("stats.allocated", 1), EPERM);
    assert_int_equal(set("backend.in_use", 1), EPERM);
    assert_int_equal(jw_ctl("epoch", NULL, NULL, small, 2), EINVAL);
    size = 1;
    assert_int_equal(jw_ctl("backend.in_use", small, &size, NULL, 0), EINVAL);
    assert_int_equal(jw_ctl("stats.allocated", NULL, NULL, NULL, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_follow_objects),
        cmocka_unit_test(purge_gives_memory_back),
        cmocka_unit_test(epoch_counts),
        cmocka_unit_test(background_thread_pauses_and_resumes),
        cmocka_unit_test(options_are_read_and_set),
        cmocka_unit_test(small_values_have_their_types),
        cmocka_unit_test(names_that_are_not_ours_are_refused),
        cmocka_unit_test(wrong_sizes_and_writes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
