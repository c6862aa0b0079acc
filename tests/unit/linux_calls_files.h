/* linux_calls_files.h - the scripts of linux_calls_test.c about files: kept output, reports, control groups, last
 * words. */
#ifndef JW_TESTS_LINUX_CALLS_FILES_H
#define JW_TESTS_LINUX_CALLS_FILES_H

#include "calls.h"

#include "platform/misuse.h"
#include "platform/platform.h"

static void write_both(const char *name) {
    say("%s\n", name);
    platform_write("text\n", 5);
    platform_write_report("report\n", 7);
}

/* Standard error as it was, closed, replaced; then the copy, too. */
static void through_states(void) {
    write_both("as at the start");
    world.identities[2] = 0;
    write_both("closed");
    world.identities[2] = 8;
    write_both("replaced by another file");
    world.identities[2] = 7 + 10000;
    write_both("of another device");
    world.identities[2] = 7 + 100000;
    write_both("of another device, in the other number");
    world.identities[2] = 0;
    world.identities[FIRST_COPY + 2] = 9;
    write_both("closed, and the copy is another file");
    world.identities[2] = 7;
    write_both("back, but the copy is another file");
    world.identities[FIRST_COPY + 2] = world.identities[FIRST_COPY + FIRST_FILE] = 0;
    write_both("the copies are closed");
}

static void kept_output_without_report(void) {
    write_both("before anything is kept");
    platform_keep_output(NULL);
    through_states();
}

static void kept_output(void) {
    has_file("/tmp/report", "");
    platform_keep_output("/tmp/report");
    write_both("as at the start");
    world.identities[2] = 0;
    write_both("closed");
}

static void kept_output_with_report(void) {
    has_file("/tmp/report", "");
    platform_keep_output("/tmp/report");
    through_states();
}

static void no_report_file(void) {
    platform_keep_output("/gone/report");
    write_both("without the file");
}

static void writes_in_parts(void) {
    will("write", 3);
    will("write", -EINTR);
    will("write", 1);
    platform_write("in parts\n", 9);
    will("write", 0);
    platform_write("nobody takes it\n", 16);
    will("write", -EPIPE);
    platform_write("nobody reads it\n", 16);
    platform_write("", 0);
}

static void on_pipe(int number) {
    say("signal %d\n", number);
}

static void pipe_signal(void) {
    sigset_t pipe_only;
    platform_keep_output(NULL);
    will("write", -EPIPE);
    platform_write_report("nobody reads it\n", 16);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    signal(SIGPIPE, on_pipe);
    pthread_kill(pthread_self(), SIGPIPE);
    platform_write_report("it is pending already\n", 22);
}

static void read_one(const char *path, size_t size) {
    char buffer[32];
    memset(buffer, '.', sizeof buffer);
    size_t length = platform_read_file(path, buffer, size);
    say("%u: \"%.*s\"\n", (unsigned)length, (int)sizeof buffer, buffer);
}

static void read_files(void) {
    has_file("/a", "0123456789");
    read_one("/a", 0);
    read_one("/a", 5);
    read_one("/a", 10);
    read_one("/a", 20);
    read_one("/gone", 20);
    will("read", -EINTR);
    read_one("/a", 20);
    will("read", -EIO);
    read_one("/a", 20);
}

static void say_group(void) {
    struct group_memory group = {1, 2, 3};
    bool known = platform_group_memory(&group);
    say("group %d: most %lld, room %lld, stalled %u\n", known, (long long)(intptr_t)group.most,
        (long long)(intptr_t)group.room, (unsigned)group.stalled);
}

static void watch(void) {
    say_group();
    platform_watch_group("/proc/self/cgroup", "/groups");
    say_yes("watched", process_watches_group());
    say_group();
}

/* Version 2: the own group has no limit, one above it has. */
static void files_of_group(void) {
    has_file("/proc/self/cgroup", "1:name=x:/y\n0::/above/own/\n");
    has_file("/groups/above/own/memory.max", "max\n");
    has_file("/groups/above/own/memory.high", "max\n");
    has_file("/groups/above/memory.max", "max\n");
    has_file("/groups/above/memory.high", "900000\n");
    has_file("/groups/above/memory.current", "400000\n");
    has_file("/groups/above/memory.stat", "anon 7\ninactive_file 100000\nactive_file 9\n");
    has_file("/groups/above/memory.pressure", "some avg10=56.78 avg60=1.00\n");
    has_file("/proc/pressure/memory", "some avg10=55.00\n");
}

static void new_group(void) {
    files_of_group();
    watch();
}

static void numbers_of_group(void) {
    files_of_group();
    platform_watch_group("/proc/self/cgroup", "/groups");
    has_file("/proc/pressure/memory", "some avg10=57.00\n"); /* the whole system waits longer than the group */
    say_group();
    has_file("/proc/pressure/memory", "some avg10=3.00\n");
    has_file("/groups/above/memory.max", "500000\n");
    say_group();
    has_file("/groups/above/memory.max", "300000\n");
    say_group();
    has_file("/groups/above/memory.max", "299999\n");
    say_group();
    has_file("/groups/above/memory.current", "99999\n");
    say_group();
    has_file("/groups/above/memory.current", "none\n");
    say_group();
    has_file("/groups/above/memory.current", "100000\n");
    has_file("/groups/above/memory.max", sizeof(long) > 4 ? "1152921504606846975\n" : "4294967294\n");
    has_file("/groups/above/memory.high", "max\n");
    say_group();
    has_file("/groups/above/memory.max", sizeof(long) > 4 ? "1152921504606846976\n" : "4294967295\n");
    say_group();
    has_file("/groups/above/memory.max", "99999999999999999999999999999\n");
    say_group();
    world.identities[FIRST_COPY + FIRST_FILE + 5] = 3; /* another file has the number */
    say_group();
}

/* No limit anywhere: the root is watched; its pressure is the machine's. */
static void no_limit(void) {
    has_file("/proc/self/cgroup", "0::/a//b\n");
    has_file("/groups/memory.current", "5000\n");
    has_file("/groups/memory.stat", "anon 1\n");
    has_file("/proc/pressure/memory", "some avg10=3.00\n");
    watch();
}

static void old_group(void) {
    has_file("/proc/self/cgroup", "7:cpu:/\n4:hugetlb,memory,pids:/own\n0::/other\n");
    has_file("/groups/hugetlb,memory,pids/memory.stat", "cache 1\n");
    has_file("/groups/hugetlb,memory,pids/own/memory.limit_in_bytes", "1000000\n");
    has_file("/groups/hugetlb,memory,pids/own/memory.usage_in_bytes", "900000\n");
    has_file("/groups/hugetlb,memory,pids/own/memory.stat", "total 1\ninactive_file 300000\n");
    watch();
}

/* The group itself is outside of what the process sees. */
static void old_group_unseen(void) {
    has_file("/proc/self/cgroup", "4:memory:/gone/own\n");
    has_file("/groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
    has_file("/groups/memory/memory.usage_in_bytes", "900000\n");
    watch();
}

static void group_of_android(void) {
    has_file("/proc/self/cgroup", "3:memory:/apps/uid_0/pid_7\n0::/uid_0\n");
    has_file("/dev/memcg/memory.stat", "cache 1\n");
    has_file("/dev/memcg/apps/memory.limit_in_bytes", "1000000\n");
    has_file("/dev/memcg/apps/memory.usage_in_bytes", "700000\n");
    has_file("/dev/memcg/apps/memory.stat", "total 1\ninactive_file 100000\n");
    watch();
}

static void no_group(void) {
    has_file("/proc/self/cgroup", "\n::\n7:memory\n6:cpu,memories,xmemory:/a\n5:memory:relative\n0::/cut/off");
    watch();
}

static void long_path(void) {
    static char text[1000] = "0::/";
    for (unsigned i = 0; i < 2; i++) {
        memset(text + strlen(text), 'a' + (char)i, 260);
        strcat(text, "/");
    }
    strcat(text, "\n");
    has_file("/proc/self/cgroup", text);
    watch();
}

static void last_words(void) {
    platform_abort_message("early\n", 6);
    platform_finish_start();
    platform_abort_message("a message\n", 10);
    static char text[2 * PAGE];
    memset(text, 'x', sizeof text);
    platform_abort_message(text, sizeof text);
    say_yes("no such library", platform_call_library("libjw-gone.so.9", "name", NULL));
    say_yes("no such function", platform_call_library("libc.so.6", "jw_gone", NULL));
}

/* A library that is not marked to stay is opened once more; not the program itself. */
static void stays_loaded(void) {
    const ElfW(Ehdr) *header = (const void *)own_code.first;
    platform_finish_start(); /* dladdr finds nothing */
    world.finds_module = 1;
    platform_finish_start();
    world.module = "libjw-gone.so.9";
    platform_finish_start();
    auxiliary_is(AT_PHDR, own_code.first + header->e_phoff + 1);
    platform_finish_start();
}

static void aborts(void) {
    platform_finish_start();
    misuse(WRONG_SIZE, (void *)0x1234, 100);
}

static void (*described)(struct found *found);

static void describe_it(const void *address, struct found *found) {
    (void)address;
    described(found);
}

static void as_free(struct found *found) {
    *found = (struct found){TIER_NONE + 1, FOUND_FREE, 64, 4711};
    will("tgkill", 0); /* that thread lives */
}

static void as_gone(struct found *found) {
    *found = (struct found){TIER_NONE + 2, FOUND_GONE, 0, 0x3ffffff0};
}

static void as_in_use(struct found *found) {
    *found = (struct found){TIER_NONE + 3, FOUND_IN_USE, 100000, OWNER_ENDED};
}

static void free_in_use(void) {
    described = as_in_use;
    misuse_describes(describe_it);
    misuse(DOUBLE_FREE, (void *)0x1234, 0);
}

static void invalid_free(void) {
    described = as_in_use;
    misuse_describes(describe_it);
    misuse(INVALID_FREE, (void *)0x1234, 0);
}

static void invalid_free_of_free(void) {
    described = as_free;
    misuse_describes(describe_it);
    misuse(INVALID_FREE, (void *)0x1234, 0);
}

static void write_to_gone(void) {
    described = as_gone;
    misuse_describes(describe_it);
    misuse(WRITE_AFTER_FREE, (void *)0x1234, 17);
}

static void file_scripts(void) {
    script("Output, kept", kept_output);
    script_once("Output that is kept", kept_output_without_report);
    script_once("Output that is kept, and a report", kept_output_with_report);
    script("No file for the report", no_report_file);
    script("Writes in parts", writes_in_parts);
    script("A pipe without reader", pipe_signal);
    script("Files", read_files);
    script("A control group", new_group);
    script_once("Numbers of a control group", numbers_of_group);
    script("Control groups without limit", no_limit);
    script("A control group of version 1", old_group);
    script("An unseen control group of version 1", old_group_unseen);
    script("A control group of version 1 on Android", group_of_android);
    script("No control group", no_group);
    script_once("A control group with a long path", long_path);
    script("Messages for crash reporters", last_words);
    script_once("A library that must stay", stays_loaded);
    script("Misuse", aborts);
    script_once("Misuse: a double free of what is in use", free_in_use);
    script_once("Misuse: an invalid free", invalid_free);
    script_once("Misuse: an invalid free of what is free", invalid_free_of_free);
    script("Misuse: a write after free", write_to_gone);
}

#endif
