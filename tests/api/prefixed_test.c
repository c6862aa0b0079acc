/* prefixed_test.c - jw_malloc beside the system's malloc in one program, and what only <jwmalloc.h> has. */
#include <jwmalloc.h>

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "check.h"

static bool hardened;

struct text {
    char bytes[1 << 20];
    size_t length;
};

static void append(void *cookie, const char *bytes, size_t length) {
    struct text *text = cookie;
    assert_true(length < sizeof text->bytes - text->length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

/* Two heaps, neither sees the other's objects. */
static void both_heaps_work(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    static char *ours[COUNT], *theirs[COUNT];
    size_t theirs_before = mallinfo2().uordblks;
    for (size_t i = 0; i < COUNT; i++) {
        ours[i] = jw_malloc(i * 13 + 1);
        assert_non_null(ours[i]);
        pattern_fill(ours[i], i * 13 + 1, i);
    }
    assert_true(mallinfo2().uordblks <= theirs_before + 4096);
    for (size_t i = 0; i < COUNT; i++) {
        theirs[i] = malloc(i * 13 + 1);
        assert_non_null(theirs[i]);
        pattern_fill(theirs[i], i * 13 + 1, ~i);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(pattern_holds(ours[i], i * 13 + 1, i));
        assert_true(pattern_holds(theirs[i], i * 13 + 1, ~i));
        jw_free(ours[i]);
        free(theirs[i]);
    }
}

/* However short its time is, the calls together give all back. */
static void a_purge_goes_on_at_the_next_call(void **state) {
    (void)state;
    enum { COUNT = 20000, CALLS = 100000 };
    static void *objects[COUNT];
    for (size_t i = 0; i < COUNT; i++) memset(objects[i] = jw_malloc(i % 7 * 500 + 100), 1, 100);
    for (size_t i = 0; i < COUNT; i++) jw_free(objects[i]);
    size_t free_bytes = jw_mallinfo2().keepcost, calls = 0;
    assert_true(jw_purge(-1, 1000) == 0 && jw_purge(JW_PURGE_ALL + 1, 1000) == 0);
    assert_true(free_bytes > 1 << 20);
    do {
        assert_true(++calls < CALLS);
        jw_purge(JW_PURGE_ALL, 20);
    } while (jw_mallinfo2().keepcost > free_bytes / 20);
    jw_purge(JW_PURGE_ALL, ULONG_MAX);
    if (!hardened) assert_int_equal(jw_malloc_trim(0), 0); /* where objects leave the quarantine meanwhile */
}

/* Whether this is the hardened build, where jw_malloc_iterate refuses. */
static bool iterates_nothing(void) {
    if (!hardened) return false;
    assert_true(jw_malloc_iterate(0, SIZE_MAX, NULL, NULL) == -1 && errno == ENOTSUP);
    return true;
}

enum { KEPT = 3000 };
static void *kept[KEPT];
static pthread_barrier_t ready;

/* The thread keeps every other object, and makes no call while they are counted. */
static void *keep_and_wait(void *unused) {
    for (size_t i = 0; i < KEPT; i++) kept[i] = jw_malloc(i % 50 * 100 + 1);
    for (size_t i = 1; i < KEPT; i += 2) jw_free(kept[i]);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&ready);
    for (size_t i = 0; i < KEPT; i += 2) jw_free(kept[i]);
    return unused;
}

static void count_kept(uintptr_t object, size_t size, void *argument) {
    size_t *counts = argument;
    for (size_t i = 0; i < KEPT; i += 2)
        if ((uintptr_t)kept[i] == object && size >= i % 50 * 100 + 1) counts[0]++;
    counts[1]++;
}

/* A leak detector forks, and the child asks for the parent's objects. */
static void a_child_sees_the_objects_of_all_threads(void **state) {
    (void)state;
    pthread_t thread;
    size_t before[2] = {0, 0}, now[2] = {0, 0};
    int status = 0;
    if (iterates_nothing()) return;
    assert_int_equal(jw_malloc_iterate(0, SIZE_MAX, count_kept, before), 0);
    assert_int_equal(pthread_barrier_init(&ready, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, keep_and_wait, NULL), 0);
    pthread_barrier_wait(&ready);
    pid_t child = fork();
    if (child == 0) {
        bool all = jw_malloc_iterate(0, SIZE_MAX, count_kept, now) == 0;
        _exit(all && now[0] == KEPT / 2 && now[1] == before[1] + KEPT / 2 ? 0 : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    pthread_barrier_wait(&ready);
    pthread_join(thread, NULL);
}

static void fork_once(uintptr_t object, size_t size, void *child) {
    (void)object, (void)size;
    if (*(pid_t *)child < 0) *(pid_t *)child = fork();
}

/* A callback must not fork. If it does, only that call in the child is at stake, not the child's later ones. */
static void a_callback_that_forks_harms_no_later_call(void **state) {
    (void)state;
    void *object = jw_malloc(1);
    size_t counts[2] = {0, 0};
    pid_t child = -1;
    int status = 0;
    if (iterates_nothing()) return;
    int told = jw_malloc_iterate(0, SIZE_MAX, fork_once, &child);
    if (child == 0) _exit(jw_malloc_iterate(0, SIZE_MAX, count_kept, counts) == 0 && counts[1] > 0 ? 0 : 1);
    assert_int_equal(told, 0);
    assert_true(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    jw_free(object);
}

typedef void any_function(void);

/* What both platforms' tables ask for, by the same list as the document. */
static void each_entry_of_the_dispatch_tables_exists(void **state) {
    (void)state;
#define ENTRY(platform, name, ours, remark) (any_function *)ours,
#define LACKS(platform, name, remark)
    any_function *const volatile entries[] = {
#include "../../src/api/dispatch.def"
    };
    assert_true(sizeof entries / sizeof *entries > 20);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) assert_non_null(entries[i]);
}

static bool python_accepts_json(const struct text *text) {
    FILE *python = popen("python3 -c 'import json, sys; sys.exit(not json.load(sys.stdin))'", "w");
    assert_non_null(python);
    assert_int_equal(fwrite(text->bytes, 1, text->length, python), text->length);
    return pclose(python) == 0;
}

static void statistics_as_text_and_json(void **state) {
    (void)state;
    static struct text text, json;
    void *objects[] = {jw_malloc(10), jw_malloc(3000), jw_malloc(100000), jw_malloc(9 << 20)};
    jw_stats_print(append, &text, JW_STATS_TEXT);
    jw_stats_print(append, &json, JW_STATS_JSON);
    assert_true(text.length > 100);
    assert_true(json.length > 100);
    assert_true(python_accepts_json(&json));
    for (size_t i = 0; i < 4; i++) jw_free(objects[i]);
}

static void append_ended(void *cookie, const char *bytes) {
    assert_true(*bytes != '\0');
    append(cookie, bytes, strlen(bytes));
}

/* Without the numbers, which are of another moment, and the spaces before them. */
static size_t without_numbers(struct text *text) {
    size_t length = 0;
    for (size_t i = 0; i < text->length; i++)
        if (strchr("0123456789 ", text->bytes[i]) == NULL) text->bytes[length++] = text->bytes[i];
    return length;
}

static void same_report(struct text *one, struct text *other) {
    size_t length = without_numbers(one);
    assert_true(length > 100);
    assert_int_equal(without_numbers(other), length);
    assert_true(memcmp(one->bytes, other->bytes, length) == 0);
    one->length = other->length = 0;
}

static void statistics_as_jemalloc_prints_them(void **state) {
    (void)state;
    static struct text ours, theirs;
    jw_stats_print(append, &ours, JW_STATS_JSON);
    jw_malloc_stats_print(append_ended, &theirs, "gmJa");
    assert_true(python_accepts_json(&theirs));
    same_report(&ours, &theirs);
    jw_stats_print(append, &ours, JW_STATS_TEXT);
    jw_malloc_stats_print(append_ended, &theirs, NULL);
    same_report(&ours, &theirs);
    jw_stats_print(append, &ours, JW_STATS_TEXT);
    jw_malloc_stats_print(append_ended, &theirs, "gblx");
    same_report(&ours, &theirs);
    /* without a function: to standard error */
    FILE *file = tmpfile();
    int standard_error = dup(STDERR_FILENO);
    assert_true(file != NULL && dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
    jw_malloc_stats_print(NULL, NULL, "J");
    assert_int_equal(dup2(standard_error, STDERR_FILENO), STDERR_FILENO);
    close(standard_error);
    rewind(file);
    theirs.length = fread(theirs.bytes, 1, sizeof theirs.bytes, file);
    fclose(file);
    assert_true(python_accepts_json(&theirs));
}

static void options_are_listed(void **state) {
    (void)state;
    static struct text text;
    static const char *const names[] = {"reclaim_interval", "reclaim_thread", "cache_min", "pool_percent", "stats"};
    jw_options_print(append, &text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_non_null(strstr(text.bytes, names[i]));
}

static void version_is_the_headers(void **state) {
    (void)state;
    assert_string_equal(jw_version(), JW_VERSION);
}

int main(int count, char **arguments) {
    hardened = count > 1 && strcmp(arguments[1], "secure") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_heaps_work),
        cmocka_unit_test(a_purge_goes_on_at_the_next_call),
        cmocka_unit_test(a_child_sees_the_objects_of_all_threads),
        cmocka_unit_test(a_callback_that_forks_harms_no_later_call),
        cmocka_unit_test(each_entry_of_the_dispatch_tables_exists),
        cmocka_unit_test(statistics_as_text_and_json),
        cmocka_unit_test(statistics_as_jemalloc_prints_them),
        cmocka_unit_test(options_are_listed),
        cmocka_unit_test(version_is_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
