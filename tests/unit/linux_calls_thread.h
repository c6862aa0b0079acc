/* linux_calls_thread.h - the scripts of linux_calls_test.c about the reclamation thread: how it starts, what it gives
 * up, how it ends. */
#ifndef JW_TESTS_LINUX_CALLS_THREAD_H
#define JW_TESTS_LINUX_CALLS_THREAD_H

#include "calls.h"

#include "platform/linux_pages.h"
#include "platform/linux_start.h"
#include "platform/platform.h"

static _Atomic(pid_t) body_thread;
static _Atomic(uintptr_t) body_frame;
static bool body_always;
static char *body_block;
static volatile bool body_discards;

/* System calls of our thread itself are by the C library: the transcript has only those of the platform. */
static void body(void) {
    body_thread = (pid_t)syscall(SYS_gettid);
    body_frame = (uintptr_t)__builtin_frame_address(0);
    while (!body_may_go) usleep(100);
    body_discards = platform_discard(body_block, PAGE); /* no tail call, with the frame of the start */
}

static void wait_for_body(void) {
    body_may_go = true;
    while (body_thread != 0 && syscall(SYS_tgkill, own_process, body_thread, 0) == 0) usleep(100);
}

static void start_body(void) {
    body_may_go = false;
    body_thread = 0;
    enum platform_start started = platform_thread_start(body);
    say("started %d\n", started);
    while (started == START_STARTED && body_thread == 0) usleep(100);
}

static void thread_starts(void) {
    platform_start();
    threads_start();
    body_block = reserve(PAGE, PAGE);
    platform_spare_callers(SPARED);
    uint64_t before = platform_system_calls();
    start_body();
    say("calls %u\n", (unsigned)(platform_system_calls() - before));
    wait_for_body();
    platform_threads_gone(false);
    platform_threads_gone(true);
    platform_threads_gone(true);
    start_body(); /* on the same stack */
    start_body(); /* on the other one */
    start_body();
    threads_forget();
}

/* The GNU C library calls clone3 from 2.34 on. */
static void thread_of_each_libc(void) {
    static const char *const versions[] = {"1.99", "2", "2.33", "2.34", "2.100", "3", "3.0"};
    platform_start();
    for (unsigned i = 0; i < sizeof versions / sizeof *versions; i++) {
        world.libc = versions[i];
        say("version %s\n", versions[i]);
        start_body();
        wait_for_body();
        platform_threads_gone(false);
    }
}

static void thread_ends(void) {
    platform_start();
    start_body();
    answers_when_gone = body_thread;
    if (body_thread != 0) platform_threads_gone(true);
}

/* The kernel still counts the thread that has ended. */
static void thread_lingers(void) {
    platform_start();
    start_body();
    if (body_thread == 0) return;
    wait_for_body();
    for (unsigned i = 0; i < 3; i++) {
        will("getpid", own_process);
        will("tgkill", 0);
    }
    platform_threads_gone(true);
}

static void thread_of_valgrind(void) {
    char *valgrinds[] = {"LD_PRELOAD=/vgpreload_", NULL};
    environ = valgrinds;
    users_are(7, 7, 7, 7, 0);
    platform_read_rights();
    start_body();
}

static void sleeps(void) {
    _Atomic(uint32_t) word = 5;
    platform_futex_wait(&word, 5, 1234);
    platform_futex_wait(&word, 6, 999);
    platform_futex_wake(&word);
    platform_sleep(62);
}

/* --- What it gives up ------------------------------------------------------------------------------------------- */

static void confine(const char *name, bool always) {
    say("%s\n", name);
    say("confined %d\n", platform_thread_confine(always));
}

static void rights_are(unsigned user, uint64_t realtime) {
    has_file("/proc/self/status", "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0\n");
    users_are(user, user, user, user, 0);
    world.limits[RLIMIT_RTPRIO] = realtime;
    records = false;
    platform_read_rights();
    records = true;
}

static void confine_ordinary(void) {
    rights_are(7, 0);
    confine("ordinary", false);
    rights_are(7, 2);
    confine("ordinary, real-time", false);
    world.shows_filter = !calls->refused;
    confine("ordinary, always", true);
}

static void confine_class(void) {
    static const long classes[] = {SCHED_OTHER, SCHED_FIFO, SCHED_RR, 3 /* batch */, 5 /* idle */, 0x40000000 | 5};
    rights_are(7, 2);
    for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++) {
        will("sched_setscheduler", -EPERM);
        will("sched_getscheduler", classes[i]);
        say("class %ld ", classes[i]);
        confine("stays", false);
        for (unsigned j = 0; j < ANSWERS; j++) world.answers[j].name = NULL;
    }
}

static void confine_niceness(void) {
    static const long answers[] = {1, 10, 19, 20, 21, 40, -3};
    rights_are(7, 2);
    for (unsigned i = 0; i < sizeof answers / sizeof *answers; i++) {
        will("getpriority", answers[i]);
        confine("niceness", false);
    }
}

static void set_users(uint32_t real, uint32_t effective, uint32_t saved) {
    world.users[0] = real;
    world.users[1] = effective;
    world.users[2] = saved;
}

static void set_groups(uint32_t real, uint32_t effective, uint32_t saved) {
    world.groups[0] = real;
    world.groups[1] = effective;
    world.groups[2] = saved;
}

static void confine_root(void) {
    rights_are(0, 0);
    set_users(7, 7, 7);
    set_groups(7, 7, 7);
    confine("has become a user for good", false);
    set_groups(7, 7, 0);
    confine("may be of root's group again", false);
}

static void confine_former_root(void) {
    rights_are(0, 0);
    confine("root", false);
    set_users(7, 7, 7);
    set_groups(7, 7, 7);
    confine("has become a user for good", false);
    set_users(7, 7, 0);
    confine("may be root again", false);
    set_users(7, 8, 7);
    confine("is of two users", false);
    set_users(7, 7, 7);
    set_groups(7, 0, 0);
    confine("is of two groups", false);
    set_groups(0, 0, 0);
    confine("is of root's group", false);
    set_groups(7, 7, 8);
    confine("may be of another group", false);
    set_groups(7, 7, 7);
    world.capabilities[0] = 1u << 31;
    confine("has a capability", false);
    world.capabilities[0] = 0;
    world.capabilities[1] = 1;
    confine("has a capability of the second word", false);
    world.capabilities[1] = 0;
    world.silent = true;
    confine("is told nothing", false);
    world.silent = false;
    static const char *const silent[] = {"getresuid", "getresgid", "capget"};
    for (unsigned i = 0; i < 3; i++) {
        will(silent[i], 0);
        say("%s ", silent[i]);
        confine("says nothing", false);
        world.answers[0].name = NULL;
    }
    rights_are(7, 0);
    users_are(7, 7, 7, 8, 0);
    platform_read_rights();
    confine("not root, but more than an ordinary user", false);
}

static void confine_with_group(void) {
    rights_are(7, 0);
    has_file("/proc/self/cgroup", "0::/\n");
    records = false;
    platform_watch_group("/proc/self/cgroup", "/groups");
    records = true;
    world.shows_filter = true;
    confine("reads its group's files", true);
}

/* --- The filter at work ----------------------------------------------------------------------------------------- */

/* Of each call that the filter knows, and of some others: whether the thread may still make it. Their arguments do
 * nothing. */
static void try_calls(void) {
    static const struct {
        const char *name;
        long number, arguments[3];
    } tried[] = {
        {"pread64", SYS_pread64, {-1, 0, 0}},
        {"statx", SYS_statx, {-1, 0, 0}},
        {"futex", SYS_futex, {0, FUTEX_WAKE, 0}},
        {"madvise", SYS_madvise, {0, 0, 0}},
        {"munmap", SYS_munmap, {1, 0, 0}},
        {"mprotect", SYS_mprotect, {1, 0, PROT_READ | PROT_WRITE}},
        {"mprotect to execute", SYS_mprotect, {1, 0, PROT_EXEC}},
        {"mmap", CALL_MMAP, {1, 0, PROT_READ}},
        {"mmap to execute", CALL_MMAP, {1, 0, PROT_READ | PROT_EXEC}},
        {"write to 1", SYS_write, {1, 0, 0}},
        {"write to 2", SYS_write, {2, 0, 0}},
        {"getpid", SYS_getpid, {0}},
        {"gettid", SYS_gettid, {0}},
        {"sigprocmask", SYS_rt_sigprocmask, {0, 0, 0}},
        {"sigaction of SIGABRT", SYS_rt_sigaction, {SIGABRT, 0, 0}},
        {"sigaction of SIGSEGV", SYS_rt_sigaction, {SIGSEGV, 0, 0}},
        {"tgkill of another process", SYS_tgkill, {1, 1, 0}},
        {"getppid", SYS_getppid, {0}},
        {"openat", SYS_openat, {-1, 0, 0}},
        {"mremap", SYS_mremap, {1, 0, 0}},
        {"clone", SYS_clone, {0x10000, 0, 0}},
        {"capget", SYS_capget, {0, 0, 0}},
        {"getrandom", SYS_getrandom, {0, 0, 0}},
    };
    for (unsigned i = 0; i < sizeof tried / sizeof *tried; i++) {
        long result = syscall(tried[i].number, tried[i].arguments[0], tried[i].arguments[1], tried[i].arguments[2]);
        say("%s: %s\n", tried[i].name, result == -1 && errno == EPERM ? "refused" : "allowed");
    }
    long own = syscall(SYS_tgkill, own_process, body_thread, 0);
    say("tgkill of the process: %s\n", own == 0 ? "allowed" : "refused");
}

static void confined_body(void) {
    body_thread = (pid_t)syscall(SYS_gettid);
    while (!body_may_go) usleep(100);
    bool confined = platform_thread_confine(body_always);
    records = false; /* from here on the calls are the test's */
    say("confined %d\n", confined);
    try_calls();
    body_may_go = false;
    while (!body_may_go) platform_sleep(1);
}

static void say_status(void) {
    static const char *const shown[] = {"SigBlk", "CapPrm", "CapEff", "NoNewPrivs", "Seccomp:"};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", body_thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        for (unsigned i = 0; i < 5; i++)
            if (strncmp(line, shown[i], strlen(shown[i])) == 0) say("%s", line);
    if (file) fclose(file);
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", body_thread);
    file = fopen(path, "r");
    if (file && fgets(line, sizeof line, file)) say("%s", line);
    if (file) fclose(file);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    say("SIGUSR1 blocked here: %d\n", sigismember(&mask, SIGUSR1));
}

static void confined_thread(void) {
    if (calls->refused) world.confines = false;
    else world.confines = true;
    rights_are(0, 0);
    body_always = true;
    body_thread = 0;
    if (platform_thread_start(confined_body) != START_STARTED) return;
    while (body_thread == 0) usleep(100);
    body_may_go = true;
    while (body_may_go) usleep(100);
    if (world.confines) say_status();
    body_may_go = true;
    while (syscall(SYS_tgkill, own_process, body_thread, 0) == 0) usleep(100);
}

static void thread_scripts(void) {
    script("Sleep", sleeps);
    script("Beside Valgrind", thread_of_valgrind);
    script("The thread starts", thread_starts);
    script_once("The thread beside each C library", thread_of_each_libc);
    script("The thread ends", thread_ends);
    script("The thread lingers", thread_lingers);
    script("Confined in an ordinary process", confine_ordinary);
    script_once("A scheduling class that stays", confine_class);
    script_once("Niceness", confine_niceness);
    script("Confined in root's process", confine_root);
    script_once("Confined in root's process, with users and groups", confine_former_root);
    script_once("Confined, with a control group", confine_with_group);
    script("The confined thread", confined_thread);
}

#endif
