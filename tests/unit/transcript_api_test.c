/* transcript_api_test.c - the entry points for statistics, controls and parameters: what each of them answers, asks of
 * the platform and changes (transcript.h). After a change that is meant:
 *
 *     JW_TRANSCRIPT=tests/unit/transcript_api.txt build/.../unit-transcript-api
 */
#include "transcript_program.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "api/bionic_info.h"
#include "jwmalloc.h"
#include "statistics/statistics.h"

const char *__wrap_platform_program(void);
uint32_t __wrap_platform_process_id(void);
uint64_t __wrap_platform_seconds(void);

const char *__wrap_platform_program(void) {
    return "/bin/<a> & \"b\"";
}

uint32_t __wrap_platform_process_id(void) {
    return 4711;
}

uint64_t __wrap_platform_seconds(void) {
    return 1234567890123;
}

/* --- Controls --------------------------------------------------------------------------------------------------- */

#define CONTROL(id, name, depth, type) name,
static const char *const control_names[] = {
#include "api/controls.def"
};
#undef CONTROL

static const char *const more_names[] = {"",
                                         "arena.",
                                         "arena.0",
                                         "arena.0.",
                                         "arena.0.purge",
                                         "arena.1.purge",
                                         "arena.2.purge",
                                         "arena.4096.purge",
                                         "arena.4095.purge",
                                         "arena.4097.purge",
                                         "arena.00.decay",
                                         "arena.40960.decay",
                                         "arena.x.purge",
                                         "arena.0.epoch",
                                         ".purge",
                                         "purge",
                                         "epochs",
                                         "stats",
                                         "opt",
                                         "opt.",
                                         "opt.cache_min",
                                         "opt.reclaim_interval",
                                         "opt.low_memory",
                                         "opt.stats_file",
                                         "opt.nothing",
                                         "backend.in_use",
                                         "frontend.in_use",
                                         "huge.bytes",
                                         "backend.nothing",
                                         "process.pid",
                                         "in_use",
                                         "arena.99999999999999999999.purge"};

/* The name's numbers, and each shorter part of them as a mib. */
static void say_mib(const char *name) {
    size_t mib[5] = {77, 77, 77, 77, 77}, length = 5, value, size;
    int error = jw_ctl_name_to_mib(name, mib, &length);
    say("\"%s\": %d", name, error);
    for (size_t i = 0; error == 0 && i < 5; i++) say(i < length ? " %zu" : " (%zu)", mib[i]);
    for (size_t part = 0; error == 0 && part <= 4; part++) {
        size = sizeof value;
        say(" %d", jw_ctl_by_mib(mib, part, NULL, &size, NULL, 0));
    }
    length = 1;
    mib[1] = 77;
    if (jw_ctl_name_to_mib(name, mib, &length) == 0) say(" one: %zu %zu %zu", length, mib[0], mib[1]);
    say("\n");
}

static void say_control(const char *name) {
    union {
        uint64_t word;
        unsigned char bytes[16];
    } old;
    static const uint64_t inputs[] = {0, 1};
    say("\"%s\"\n", name);
    for (size_t given = 0; given <= 9; given++) {
        size_t size = given;
        memset(&old, 0xab, sizeof old);
        int error = jw_ctl(name, &old, &size, NULL, 0);
        say("    read %zu: %d, %zu", given, error, size);
        for (unsigned i = 0; i < 9 && strcmp(name, "version") != 0; i++) say(" %02x", old.bytes[i]);
        say("\n");
    }
    for (unsigned i = 0; i < 2; i++)
        for (size_t width = 0; width <= 9; width++) {
            size_t size = 8;
            old.word = 0xababab;
            int error = jw_ctl(name, i ? &old : NULL, i ? &size : NULL, &inputs[i], width);
            if (error != EINVAL || width % 4 == 0)
                say("    set %zu: %d %llx\n", width, error,
                    strcmp(name, "version") == 0 ? 0 : (unsigned long long)old.word);
        }
}

static void controls(void) {
    begin_script("Controls");
    STEP("a mix", for (unsigned i = 0; i < 200; i++) take(i % HEAPS, 16 + i * i * 11 % 30000); give_many(HEAPS, 100, 2);
         take(0, 5 << 20));
    for (unsigned i = 0; i < sizeof control_names / sizeof *control_names; i++) say_mib(control_names[i]);
    for (unsigned i = 0; i < sizeof more_names / sizeof *more_names; i++) say_mib(more_names[i]);
    for (size_t first = 0; first < 4; first++)
        for (size_t second = 0; second < 20; second++) {
            size_t mib[3] = {first, second, second % 8}, value = 0, size = sizeof value;
            say(" %d", jw_ctl_by_mib(mib, 1, NULL, &size, NULL, 0));
            say(",%d", jw_ctl_by_mib(mib, 2, first == 0 ? NULL : (void *)&value, &size, NULL, 0));
            say(",%d", jw_ctl_by_mib(mib, 3, NULL, &size, NULL, 0));
        }
    say("\n");
    for (unsigned i = 0; i < sizeof control_names / sizeof *control_names; i++)
        STEP("a control", say("\n"); say_control(control_names[i]));
    for (unsigned i = 4; i < sizeof more_names / sizeof *more_names; i++) {
        size_t mib[3], length = 3;
        bool known = jw_ctl_name_to_mib(more_names[i], mib, &length) == 0;
        if (known) STEP("another control", say("\n"); say_control(more_names[i]));
    }
    STEP("the thread is forbidden", options.reclaim_thread = THREAD_FALSE; say("\n"); say_control("background_thread"));
    options = default_options;
    options.reclaim_thread = THREAD_TRUE;
    end_script();
}

static void set_option(const char *name, size_t value) {
    size_t old = 0, size = sizeof old;
    int error = jw_ctl(name, &old, &size, &value, sizeof value);
    say(" %d, %zu\n", error, old);
}

static void options_of_controls(void) {
#define OPTION(kind, name, initial, least, most, unit, meaning) {"opt." #name, least, most},
    static const struct {
        const char *name;
        uint64_t least, most;
    } known[] = {
#include "config/options.def"
    };
#undef OPTION
    begin_script("Options by name");
    STEP("a mix", for (unsigned i = 0; i < 200; i++) take(i % HEAPS, 16 + i * i * 11 % 30000);
         give_many(HEAPS, 100, 2));
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct options before = options;
        size_t value = 0, size = sizeof value;
        say("%s: %d", known[i].name, jw_ctl(known[i].name, &value, &size, NULL, 0));
        say(", %zu\n", value);
        say("  least"), set_option(known[i].name, (size_t)known[i].least);
        say("  below"), set_option(known[i].name, (size_t)known[i].least - 1);
        say("  above"), set_option(known[i].name, (size_t)known[i].most + 1);
        say("  most"), set_option(known[i].name, (size_t)known[i].most);
        value = options.cache_min;
        say("  read with 4 bytes: ");
        size = 4;
        say("%d\n", jw_ctl(known[i].name, &value, &size, NULL, 0));
        options = before;
        if (strcmp(known[i].name, "opt.limit_hard") == 0 || strcmp(known[i].name, "opt.limit_soft") == 0) {
            STEP("a limit below what is used", set_option(known[i].name, 1 << 20));
            options = before;
            STEP("a limit above it", set_option(known[i].name, 1 << 28));
            options = before;
        }
    }
    end_script();
}

/* --- mallopt ---------------------------------------------------------------------------------------------------- */

static void parameters(void) {
    static const int values[] = {-2, -1, 0, 1, 2, 3, 9, 10, 11, 12, 13, 100, 1 << 20};
    begin_script("Parameters");
    for (int parameter = -1020; parameter <= 10; parameter++) {
        if (parameter == -110) parameter = -10;
        if (parameter == -220) parameter = -110;
        if (parameter == -980) parameter = -220;
        say("%d:", parameter);
        for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
            struct options before = options;
            say(" %d", jw_mallopt(parameter, values[i]));
            if (options.reclaim_interval != before.reclaim_interval) say("i%zu", (size_t)options.reclaim_interval);
            if (options.init != before.init) say("n%zu", (size_t)options.init);
            options.reclaim_interval = before.reclaim_interval;
        }
        say("\n");
    }
    say("said: %zu bytes\n", strlen(sim_last_text()));
    jw_mallopt(-203, 0);
    options.init = INIT_PATTERN;
    say("with a pattern: %d %d\n", jw_mallopt(-103, 0), jw_mallopt(-103, 1));
    options.init = INIT_NONE;
    static const int acting[][2] = {{JW_M_PURGE, 0},         {JW_M_PURGE_ALL, 0}, {JW_M_DECAY_TIME, 0},
                                    {JW_M_DECAY_TIME, 1},    {-203, 1},           {-203, 0},
                                    {JW_M_PURGE_FAST, 0},    {-1002, 0},          {JW_M_RECLAIM_THREAD, 0},
                                    {JW_M_RECLAIM_THREAD, 1}};
    for (unsigned i = 0; i < sizeof acting / sizeof *acting; i++) {
        STEP("some objects", for (unsigned k = 0; k < 100; k++) take(0, 16 + k * k * 11 % 30000);
             give_many(HEAPS, 100, 1));
        STEP("a parameter that acts", say("(%d, %d)", acting[i][0], acting[i][1]);
             say(" %d", jw_mallopt(acting[i][0], acting[i][1])));
        STEP("an object", take(0, 100); give_many(HEAPS, 1, 1));
    }
    options = default_options;
    options.reclaim_thread = THREAD_TRUE;
    end_script();
}

/* --- Statistics ------------------------------------------------------------------------------------------------- */

static void to_transcript(void *cookie, const char *text, size_t length) {
    (void)cookie;
    for (size_t i = 0; i < length; i++) say(text[i] == '{' ? "\n{" : "%c", text[i]);
}

static void ended_to_transcript(void *cookie, const char *text) {
    say("[%s%s]", (const char *)cookie, text);
}

static void say_stream(const char *name, int (*print)(FILE *file)) {
    static char text[1 << 16];
    memset(text, 0, sizeof text);
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    CHECK(file);
    int error = print(file);
    fclose(file);
    say("%s: %d, %s\n", name, error, text);
}

static int print_info(FILE *file) {
    return jw_malloc_info(0, file);
}

static int print_info_of_options(FILE *file) {
    return jw_malloc_info(1, file);
}

static void say_mallinfo(void) {
    struct jw_mallinfo2 wide = jw_mallinfo2();
    struct jw_mallinfo narrow = jw_mallinfo();
    for (unsigned i = 0; i < sizeof narrow / sizeof(int); i++)
        say(" %zu %d", ((const size_t *)&wide)[i], ((const int *)&narrow)[i]);
    say("\n");
}

static void statistics(void) {
    begin_script("Statistics");
    sim_set_file("VmHWM:\t  2000 kB\nVmRSS:\t  1000 kB\n");
    say_mallinfo();
    STEP("slabs of a sleeping thread go back", take_many(1, 1500, 64); give_many(2, 1500, 1); thrift_wake();
         run_thread());
    jw_stats_print(to_transcript, NULL, JW_STATS_JSON);
    STEP("a mix", for (unsigned i = 0; i < 300; i++) take(i % HEAPS, 16 + i * i * 11 % 30000); give_many(HEAPS, 200, 2);
         take(0, 5 << 20); take(0, 6 << 20));
    say_mallinfo();
    jw_stats_print(to_transcript, NULL, JW_STATS_TEXT);
    jw_stats_print(to_transcript, NULL, JW_STATS_JSON);
    say_stream("info", print_info);
    say_stream("info with options", print_info_of_options);
    jw_malloc_stats_print(ended_to_transcript, "x", "J");
    jw_malloc_stats_print(ended_to_transcript, "y", NULL);
    jw_malloc_stats_print(NULL, NULL, "");
    say("\nsaid: %zu bytes\n", strlen(sim_last_text()));
    jw_malloc_stats();
    say("said: %zu bytes\n", strlen(sim_last_text()));
    jw_options_print(to_transcript, NULL);
    for (int level = -1; level <= 3; level++) STEP("a purge", say(" %zu", jw_purge(level, level == 1 ? 5 : ~0ul)));
    say("trim %d %d\n", jw_malloc_trim(0), jw_malloc_trim(1));
    sim_set_file(NULL);
    jw_stats_print(to_transcript, NULL, JW_STATS_JSON);
    end_script();
}

/* --- Objects ---------------------------------------------------------------------------------------------------- */

static void say_made(const char *name, void *object, size_t alignment) {
    say("%s: %s, errno %d, of %zu, %s\n", name, object ? "made" : "none", errno, jw_malloc_usable_size(object),
        (uintptr_t)object % alignment == 0 ? "aligned" : "not aligned");
    jw_free(object);
    errno = 0;
}

static void entry_points(void) {
    begin_script("Entry points");
    errno = 0;
    static const size_t sizes[] = {0, 1, 8, 9, 16, 100, 4096, 5000, 20000, SIZE_MAX / 2, SIZE_MAX - 4095, SIZE_MAX};
    static const size_t alignments[] = {0, 1, 2, 3, 4, 8, 16, 24, 64, 4096, 8192, 1 << 22, SIZE_MAX / 2 + 1, SIZE_MAX};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        say("size %zu, good size %zu\n", size, jw_malloc_good_size(size));
        say_made("malloc", jw_malloc(size), 8);
        say_made("calloc", jw_calloc(1, size), 8);
        say_made("calloc of 3", jw_calloc(3, size), 8);
        say_made("calloc of none", jw_calloc(0, size), 8);
        say_made("valloc", jw_valloc(size), 4096);
        say_made("pvalloc", jw_pvalloc(size), 4096);
        say_made("realloc of NULL", jw_realloc(NULL, size), 8);
        say_made("reallocarray of NULL", jw_reallocarray(NULL, 2, size), 8);
        void *object = jw_malloc(100), *changed = jw_realloc(object, size);
        say_made("realloc", changed, 8);
        if (changed == NULL && size > 0) jw_free(object);
        for (unsigned k = 0; k < sizeof alignments / sizeof *alignments; k++) {
            void *place = (void *)1;
            size_t alignment = alignments[k], shown = 1;
            while (shown < alignment && shown < 1 << 22) shown *= 2;
            say("alignment %zu, ", alignment);
            say_made("aligned_alloc", jw_aligned_alloc(alignment, size), shown);
            say_made("memalign", jw_memalign(alignment, size), shown);
            errno = 7;
            int error = jw_posix_memalign(&place, alignment, size);
            say("posix_memalign: %d, errno %d%s\n", error, errno, place == (void *)1 ? ", unchanged" : "");
            errno = 0;
            if (error == 0) jw_free_aligned_sized(place, alignment, size);
        }
        if (size < SIZE_MAX / 2) jw_free_sized(jw_malloc(size), size);
        jw_cfree(jw_malloc(size));
    }
    say("usable of NULL %zu, version %d\n", jw_malloc_usable_size(NULL), strcmp(jw_version(), JW_VERSION));
    errno = 0;
    jw_free(NULL);
    jw_cfree(NULL);
    say("paused %d\n", jw_reclaim_pause());
    jw_reclaim_resume();
    options = default_options;
    options.reclaim_thread = THREAD_TRUE;
    end_script();
}

/* A wait for the end of our thread: it runs now. */
static void run_while_waiting(void) {
    run_thread();
    transcript.waits_left = 1;
}

static void api_is_as_it_was(void **state) {
    (void)state;
    if (sizeof(void *) < 8) check_skip("the sizes are those of 64 bits");
    transcript.after_waits = run_while_waiting;
    transcript.waits_left = 1;
    controls();
    options_of_controls();
    parameters();
    statistics();
    entry_points();
    compare_with(JW_TRANSCRIPT_FILE);
}

static bool first_heap_is_disabled(void) {
    return heaps[0]->size_map[1] == list_of_class(DISABLED);
}

static void *disable_without_a_heap(void *has_ended) {
    if (has_ended) jw_free(jw_malloc(1));
    if (has_ended) sim_thread_exit();
    CHECK(thread_heap() == &no_heap);
    jw_malloc_disable();
    CHECK((thread_heap() == &no_heap) == (has_ended != NULL));
    CHECK(first_heap_is_disabled() == !has_ended);
    jw_malloc_enable();
    if (!has_ended) sim_thread_exit();
    return NULL;
}

/* One that has ended gets no heap again, and disables nobody: nothing would end that. */
static void a_thread_without_a_heap_gets_one_to_disable(void **state) {
    (void)state;
    pthread_t thread;
    start();
    for (uintptr_t has_ended = 0; has_ended < 2; has_ended++) {
        allocate_as(0, 1);                                                                    /* its map is as it was */
        CHECK(pthread_create(&thread, NULL, disable_without_a_heap, (void *)has_ended) == 0); // NOLINT
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static void errno_stays_where_nothing_failed(void **state) {
    (void)state;
    errno = 7;
    assert_true(jw_realtime_reserve(0) == 0 && errno == 7);
    assert_true(jw_reclaim_pause() == 0 && errno == 7);
    jw_reclaim_resume();
    jw_malloc_trim(0);
    assert_true(errno == 7);
    assert_true(jw_realtime_reserve(SIZE_MAX) == -1 && errno == ENOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(api_is_as_it_was),
        cmocka_unit_test(a_thread_without_a_heap_gets_one_to_disable),
        cmocka_unit_test(errno_stays_where_nothing_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
