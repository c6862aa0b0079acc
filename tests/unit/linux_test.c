/* linux_test.c - Linux behind the platform contract: mappings, the bare thread, thread exit, fork, the last words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"
#include "platform/linux_pages.h"
#include "platform/misuse.h"
#include "platform/platform.h"

enum { MB = 1 << 20, BIG = 4 * MB, REGION = 64 * MB };

/* A part of a root that is unmapped for a while stays the root's: an aligned huge object must not get its addresses. */
static void no_guess_leads_into_the_region(void **state) {
    (void)state;
    uintptr_t region = 0;
    enum platform_reserved result = RESERVE_TAKEN;
    while (result == RESERVE_TAKEN) { /* by the program itself: 32 bits have little room */
        if ((region = platform_region(REGION, BIG)) == 0) return;
        result = platform_reserve_at((char *)region + REGION - BIG, BIG, true, "jwmalloc: test");
    }
    assert_int_equal(result, RESERVED);
    pages_set_next_end(0); /* of earlier mappings, which may be higher */
    assert_true(platform_unmap((char *)region + REGION - BIG, BIG));
    char *block = platform_reserve(BIG, BIG, "jwmalloc: test");
    assert_true(block && (uintptr_t)block - region >= REGION);
    assert_true(platform_unmap(block, BIG));
}

static void aligned_mappings_cost_about_one_call(void **state) {
    (void)state;
    enum { COUNT = 16 };
    char *blocks[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        blocks[i] = platform_reserve(BIG, BIG, "jwmalloc: test");
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % BIG, 0);
        assert_int_equal(blocks[i][BIG - 1], 0);
        blocks[i][BIG - 1] = 1;
    }
    for (unsigned i = 0; i < COUNT; i++) assert_true(platform_unmap(blocks[i], BIG));
    uint64_t before = platform_system_calls();
    for (unsigned i = 0; i < COUNT; i++) assert_non_null(blocks[i] = platform_reserve(BIG, BIG, "jwmalloc: test"));
    assert_true(platform_system_calls() - before <= 3 * COUNT); /* map and name, and now and then a wrong guess */
    for (unsigned i = 0; i < COUNT; i++) assert_true(platform_unmap(blocks[i], BIG));
}

static void discarding_spares_partly_covered_pages(void **state) {
    (void)state;
    size_t page = platform_page_size();
    char *block = platform_reserve(4 * page, page, "jwmalloc: test");
    memset(block, 1, 4 * page);
    assert_true(platform_discard(block + 1, 4 * page - 2));
    assert_int_equal(block[0], 1);
    assert_int_equal(block[page], 0);
    assert_int_equal(block[3 * page - 1], 0);
    assert_int_equal(block[3 * page], 1);
    assert_true(platform_unmap(block, 4 * page));
}

static void pages_move_without_a_copy(void **state) {
    (void)state;
    char *from = platform_reserve(MB, MB, "jwmalloc: test"), *to = platform_reserve(2 * MB, MB, "jwmalloc: test");
    memset(from, 7, MB);
    assert_int_equal(platform_move(from, to, MB, 2 * MB), MOVED);
    assert_int_equal(to[0], 7);
    assert_int_equal(to[MB - 1], 7);
    assert_int_equal(to[MB], 0);
    /* There is nothing any more to move. Of the first refusal nobody knows when it came, before the target was cleared
     * or after; of later ones one does. */
    enum platform_moved first = platform_move(from, to, MB, 2 * MB);
    assert_true(first == MOVE_REFUSED || first == MOVE_LOST_TARGET);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(platform_move(from, to, MB, 2 * MB), MOVE_REFUSED);
        to[0] = 1; /* it is still there */
    }
    assert_true(platform_unmap(to, 2 * MB));
}

static _Atomic(uint32_t) go, runs, thread_seen;
static void body(void) {
    char deep[16 * 1024];
    memset(deep, 1, sizeof deep);
    while (atomic_load_explicit(&go, memory_order_acquire) == 0) platform_futex_wait(&go, 0, 1000);
    thread_seen = (uint32_t)syscall(SYS_gettid);
    atomic_fetch_add_explicit(&runs, (uint32_t)deep[sizeof deep / 2], memory_order_release);
    platform_futex_wake(&runs);
}

static void run_once(void) {
    atomic_store_explicit(&go, 0, memory_order_relaxed);
    uint32_t before = atomic_load_explicit(&runs, memory_order_relaxed);
    platform_threads_gone(false); /* those before may still be on their way out */
    for (int threads = 0; threads < 2; threads++) CHECK(platform_thread_start(body) == START_STARTED);
    CHECK(platform_thread_start(body) == START_TOO_EARLY);
    atomic_store_explicit(&go, 1, memory_order_release);
    platform_futex_wake(&go);
    for (uint32_t now; (now = atomic_load_explicit(&runs, memory_order_acquire)) != before + 2;)
        platform_futex_wait(&runs, now, 1000);
    CHECK(thread_seen != platform_thread_id());
}

static void the_thread_starts_again_and_again(void **state) {
    (void)state;
    sigset_t before, after; /* of which the kernel fills the start */
    memset(&before, 0, sizeof before);
    memset(&after, 0, sizeof after);
    sigprocmask(SIG_SETMASK, NULL, &before);
    errno = 77;
    for (unsigned i = 0; i < 50; i++) run_once();
    assert_int_equal(errno, 77);
    sigprocmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(memcmp(&before, &after, sizeof before), 0);
}

static void *after_exit;
static unsigned rounds;

static void at_exit(void *value) {
    if (++rounds < 3) platform_on_thread_exit(at_exit, value);
    else after_exit = value;
}

static void *ask_and_end(void *value) {
    CHECK(platform_on_thread_exit(at_exit, value));
    return NULL;
}

static void thread_exit_can_be_asked_for_again(void **state) {
    (void)state;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, ask_and_end, &rounds) == 0);
    pthread_join(thread, NULL);
    assert_int_equal(rounds, 3);
    assert_ptr_equal(after_exit, &rounds);
}

static unsigned handled[3];
static bool borrowed; /* by the child, as far as its handler can know */
static void prepare(void) {
    handled[0]++;
}
static void parent(void) {
    handled[1]++;
}
static void child(void) {
    handled[2]++;
    borrowed = platform_in_borrowed_memory();
}

/* Neither ThreadSanitizer nor qemu-user (where the fallback cmocka is used) can start threads in such a child. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITHOUT_THREADS 1
#endif
#endif
#if defined(WITHOUT_THREADS) || defined(__SANITIZE_THREAD__) || defined(JW_TESTS_FALLBACK_CMOCKA_H)
enum { CHILD_CAN_START = false };
#else
enum { CHILD_CAN_START = true };
#endif

static void the_child_of_a_fork_can_start_the_thread(void **state) {
    (void)state;
    platform_on_fork(prepare, parent, child);
    assert_false(platform_in_borrowed_memory()); /* the process has a number from now on */
    atomic_store_explicit(&go, 0, memory_order_relaxed);
    platform_threads_gone(false);
    CHECK(platform_thread_start(body) == START_STARTED); /* it runs during the fork */
    pid_t forked = fork();
    CHECK(forked >= 0);
    if (forked == 0) {
        CHECK(handled[0] == 1 && handled[1] == 0 && handled[2] == 1 && !borrowed); /* the parent was forgotten first */
        if (CHILD_CAN_START) run_once();
        _exit(0);
    }
    atomic_store_explicit(&go, 1, memory_order_release);
    platform_futex_wake(&go);
    int status;
    CHECK(waitpid(forked, &status, 0) == forked);
    assert_int_equal(status, 0);
    assert_int_equal(handled[1], 1);
}

static void misuse_says_one_line_and_aborts(void **state) {
    (void)state;
    int ends[2], status;
    char line[256] = "";
    CHECK(pipe(ends) == 0);
    pid_t forked = fork();
    if (forked == 0) {
        signal(SIGABRT, SIG_IGN); /* does not help */
        dup2(ends[1], STDERR_FILENO);
        misuse(WRONG_SIZE, (void *)(uintptr_t)0x1234, 100);
    }
    CHECK(read(ends[0], line, sizeof line - 1) > 0);
    CHECK(waitpid(forked, &status, 0) == forked);
    char *remark = strstr(line, "qemu: "); /* which the emulator may add to a death */
    if (remark) *remark = '\0';
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(line, "jwmalloc: wrong size: address 0x1234, tier none, size class none, owner thread none "
                              "(given size 100)\n");
}

/* The addresses in use stay close together: the next mapping takes the free place above, not one further below. */
static void a_free_place_above_is_taken(void **state) {
    (void)state;
    char *above = platform_reserve(BIG, BIG, "jwmalloc: test"), *below = platform_reserve(BIG, BIG, "jwmalloc: test");
    assert_true(above && below);
    if (below > above) return; /* an emulator takes no guess */
    assert_true(platform_unmap(above, BIG));
    assert_ptr_equal(platform_reserve(BIG, BIG, "jwmalloc: test"), above);
    assert_true(platform_unmap(below, BIG)); /* lower than what is free: that stays the next place */
    assert_true(platform_unmap(above, BIG));
    assert_ptr_equal(platform_reserve(BIG, BIG, "jwmalloc: test"), above);
    assert_true(platform_unmap(above, BIG));
}

/* Writes a report to a pipe without a reader. Returns whether the child's signals are as before. */
static bool report_to_nobody(bool already_pending) {
    sigset_t before, after, pipe_only;
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return false;
    platform_keep_output(NULL);
    close(ends[0]);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    if (already_pending) {
        sigprocmask(SIG_BLOCK, &pipe_only, NULL);
        raise(SIGPIPE);
    }
    sigprocmask(SIG_BLOCK, NULL, &before);
    platform_write_report("text", 4);
    sigprocmask(SIG_BLOCK, NULL, &after);
    for (int number = 1; number < 32; number++)
        if (sigismember(&before, number) != sigismember(&after, number)) return false;
    return sigpending(&after) == 0 && sigismember(&after, SIGPIPE) == already_pending;
}

static void a_report_that_nobody_reads_ends_no_program(void **state) {
    (void)state;
    for (unsigned pending = 0; pending < 2; pending++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) exit(!report_to_nobody(pending));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* As much as there is, or as fits; from a pipe, too, which gives it in pieces. */
static void a_file_is_read_to_its_end_or_the_buffers(void **state) {
    (void)state;
    char path[] = "/tmp/jw_read_XXXXXX", buffer[16], named[64];
    int file = mkstemp(path), ends[2];
    assert_true(file >= 0 && write(file, "0123456789", 10) == 10);
    for (size_t size = 0; size <= sizeof buffer; size++) {
        memset(buffer, 'x', sizeof buffer);
        assert_int_equal(platform_read_file(path, buffer, size), size < 10 ? size : 10);
        assert_true(memcmp(buffer, "0123456789", size < 10 ? size : 10) == 0);
        for (size_t i = size < 10 ? size : 10; i < sizeof buffer; i++) assert_int_equal(buffer[i], 'x');
    }
    int next = dup(file);
    close(next);
    assert_int_equal(dup(file), next); /* no descriptor is left open */
    close(next);
    close(file);
    unlink(path);
    assert_int_equal(platform_read_file(path, buffer, sizeof buffer), 0);
    pid_t child;
    assert_int_equal(pipe(ends), 0);
    if ((child = fork()) == 0) {
        for (unsigned i = 0; i < 4; i++) {
            if (write(ends[1], "abc", 3) != 3) _exit(1);
            usleep(10000);
        }
        _exit(0);
    }
    close(ends[1]);
    snprintf(named, sizeof named, "/dev/fd/%d", ends[0]);
    assert_int_equal(platform_read_file(named, buffer, sizeof buffer), 12);
    assert_true(memcmp(buffer, "abcabcabcabc", 12) == 0);
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static bool a_spared_caller_gives_nothing_back(void) {
    char *block = platform_reserve(2 * BIG, BIG, "jwmalloc: test");
    uint64_t calls = platform_callers_calls();
    *block = 1;
    if (!platform_unmap(block + BIG, BIG) || platform_callers_calls() != calls + 1) return false;
    if (!platform_discard(block, BIG) || *block != 0 || platform_callers_calls() != calls + 2) return false;
    *block = 1;
    platform_spare_callers(SPARED);
    bool refused = !platform_discard(block, BIG) && !platform_unmap(block, BIG) && *block == 1;
    return refused && platform_callers_calls() == calls + 2;
}

/* Only the reclamation thread makes such calls then. */
static void callers_are_spared_if_asked(void **state) {
    (void)state;
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) exit(!a_spared_caller_gives_nothing_back()); /* its lines count as executed, too */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void *number_of_thread(void *number) {
    *(uint32_t *)number = platform_thread_id();
    return (void *)(uintptr_t)syscall(SYS_gettid);
}

/* Without a system call: a message of misuse has it. */
static void each_thread_has_the_systems_number(void **state) {
    (void)state;
    pthread_t thread;
    uint32_t number = 0;
    void *wanted;
    assert_int_equal(platform_thread_id(), (uint32_t)syscall(SYS_gettid));
    assert_int_equal(pthread_create(&thread, NULL, number_of_thread, &number), 0);
    assert_int_equal(pthread_join(thread, &wanted), 0);
    assert_int_equal(number, (uintptr_t)wanted);
}

/* A folder like that of control groups, with files of this text. */
static char groups_root[] = "/tmp/jw-groups-XXXXXX";

static const char *in_groups(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", groups_root, name);
    return path;
}

static void write_in_groups(const char *name, const char *text) {
    FILE *file = fopen(in_groups(name), "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void watch_group_of(const char *process) {
    char path[128];
    write_in_groups("process", process);
    platform_watch_group(strcpy(path, in_groups("process")), groups_root);
}

static void check_group(size_t most, size_t room, size_t stalled) {
    struct group_memory group; /* the system may wait longer than the group */
    CHECK(platform_group_memory(&group));
    CHECK(group.most == most && group.room == room && group.stalled >= stalled);
}

/* The group of the process has no limit, the one above it has; its files are read anew each time. */
static void new_groups(void) {
    mkdir(in_groups("above"), 0700);
    mkdir(in_groups("above/own"), 0700);
    write_in_groups("above/own/memory.max", "max\n");
    write_in_groups("above/memory.max", "1000000\n");
    write_in_groups("above/memory.high", "max\n");
    write_in_groups("above/memory.current", "300000\n");
    write_in_groups("above/memory.stat", "anon 5\ninactive_file 100000\nactive_file 7\n");
    write_in_groups("above/memory.pressure", "some avg10=12.34 avg60=0.00 avg300=0.00 total=1\nfull avg10=1.00\n");
    watch_group_of("1:name=x:/\n0::/above/own\n");
    check_group(1000000, 800000, 12);
    write_in_groups("above/memory.high", "500000\n");
    check_group(500000, 300000, 12);
    write_in_groups("above/memory.current", "900000\n");
    check_group(500000, 0, 12);
    write_in_groups("above/memory.max", "max\n");
    write_in_groups("above/memory.high", "max\n");
    check_group(SIZE_MAX, SIZE_MAX, 12);
}

/* The program closes all descriptors and opens other files, which get our numbers: none of them is read. */
static void closed_files(void) {
    for (int file = 3; file < 200; file++) close(file);
    write_in_groups("other", "1\n");
    for (int file = 3; file < 200; file++) open(in_groups("other"), O_RDONLY);
    check_group(SIZE_MAX, SIZE_MAX, 0);
}

/* The process has moved to a group with fewer files, then to none. What was kept before is closed, and not read. */
static void moved_groups(void) {
    mkdir(in_groups("next"), 0700);
    write_in_groups("next/memory.max", "2000000\n");
    write_in_groups("next/memory.current", "300000\n");
    watch_group_of("0::/next\n");
    check_group(2000000, 1700000, 0);
    CHECK(fcntl(100, F_GETFD) >= 0 && fcntl(103, F_GETFD) < 0); /* two files and the system's, of six before */
    watch_group_of("");
    CHECK(fcntl(100, F_GETFD) < 0 && !platform_group_memory(&(struct group_memory){0}));
}

static void old_groups(void) {
    mkdir(in_groups("memory"), 0700);
    write_in_groups("memory/memory.limit_in_bytes", "1000000\n");
    write_in_groups("memory/memory.usage_in_bytes", "400000\n");
    watch_group_of("4:memory:/gone/own\n0::/\n");
    check_group(1000000, 600000, 0);
    write_in_groups("memory/memory.limit_in_bytes", "9223372036854771712\n");
    check_group(SIZE_MAX, SIZE_MAX, 0);
}

/* More lines than a page of text holds, and memory beside other controllers in one folder. */
static void joined_groups(void) {
    char text[6000] = "";
    for (int i = 40; i > 5; i--)
        sprintf(text + strlen(text), "%d:memory_%d,my-memory:/a/path/that/is/as/long/as/those/of/containers/are/%d\n",
                i, i, i);
    CHECK(strlen(text) > 2000);
    strcat(text, "5:cpu,memory,cpuacct:/own\n0::/other\n");
    mkdir(in_groups("cpu,memory,cpuacct"), 0700);
    mkdir(in_groups("cpu,memory,cpuacct/own"), 0700);
    write_in_groups("cpu,memory,cpuacct/memory.stat", "total_cache 0\n");
    write_in_groups("cpu,memory,cpuacct/own/memory.limit_in_bytes", "3000000\n");
    write_in_groups("cpu,memory,cpuacct/own/memory.usage_in_bytes", "1000000\n");
    watch_group_of(text);
    check_group(3000000, 2000000, 0);
}

/* The folder has the name of memory alone. */
static void linked_groups(void) {
    write_in_groups("memory/memory.limit_in_bytes", "1000000\n");
    watch_group_of("4:cpu,memory:/gone/own\n0::/\n");
    check_group(1000000, 600000, 0);
}

/* Lines that have no memory, no path or no end name no group. */
static void no_groups(void) {
    watch_group_of("\n::\n7:memory\n6:cpu,memories:/a\n5:memory:relative\n0::/cut/off");
    CHECK(!platform_group_memory(&(struct group_memory){0}));
}

static void run_in_child(void (*part)(void), void (*then)(void)) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        part();
        if (then != NULL) then();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static int entry_goes(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void groups_of_both_versions_are_read(void **state) {
    (void)state;
    assert_false(platform_group_memory(&(struct group_memory){0}));
    assert_non_null(mkdtemp(groups_root));
    run_in_child(new_groups, closed_files);
    run_in_child(new_groups, moved_groups);
    run_in_child(old_groups, NULL);
    run_in_child(joined_groups, NULL);
    run_in_child(linked_groups, NULL);
    run_in_child(no_groups, NULL);
    assert_int_equal(nftw(groups_root, entry_goes, 8, FTW_DEPTH | FTW_PHYS), 0); /* no shell may be there */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_the_systems_number),
        cmocka_unit_test(callers_are_spared_if_asked),
        cmocka_unit_test(a_file_is_read_to_its_end_or_the_buffers),
        cmocka_unit_test(a_report_that_nobody_reads_ends_no_program),
        cmocka_unit_test(a_free_place_above_is_taken),
        cmocka_unit_test(misuse_says_one_line_and_aborts), /* forks: before there are threads, for qemu-user's sake */
        cmocka_unit_test(groups_of_both_versions_are_read),
        cmocka_unit_test(no_guess_leads_into_the_region), /* before there is a guess */
        cmocka_unit_test(aligned_mappings_cost_about_one_call),
        cmocka_unit_test(discarding_spares_partly_covered_pages),
        cmocka_unit_test(pages_move_without_a_copy),
        cmocka_unit_test(the_thread_starts_again_and_again),
        cmocka_unit_test(thread_exit_can_be_asked_for_again),
        cmocka_unit_test(the_child_of_a_fork_can_start_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
