/* settings.c CASE - what a kernel does that is set up in another way than usual. This process is its first user.
 *
 *   huge_pages   transparent huge pages always, and khugepaged in a hurry: what was given back stays given back
 *   overcommit   overcommit_memory=2: what a small program is charged and can have is near to glibc's
 *   group        a control group of version 2 with a limit kills the program with glibc, not with pressure:true
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../check.h"

enum { MB = 1 << 20, OBJECTS = 100000, KEPT = 10 };

static void set(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) check_skip(path);
    close(file);
}

static void *asleep(void *unused) {
    for (;;) pause();
    return unused;
}

static void sleeper_start(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, asleep, NULL) == 0);
}

static size_t huge_bytes(void) {
    return proc_bytes("/proc/self/smaps_rollup", "AnonHugePages");
}

/* 100 MB: mostly small, some of 16 KB, few of 200 KB. */
static size_t size_of(unsigned i) {
    unsigned random = (i * 2654435761u) >> 8;
    if (i % 500 == 0) return 100000 + random % 200000;
    if (i % 16 == 0) return 1 + random % 16384;
    return 16 + random % 200;
}

static void huge_pages(void) {
    static char *objects[OBJECTS];
    set("/sys/kernel/mm/transparent_hugepage/enabled", "always");
    set("/sys/kernel/mm/transparent_hugepage/defrag", "always");
    set("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "10");
    set("/sys/kernel/mm/transparent_hugepage/khugepaged/alloc_sleep_millisecs", "10");
    set("/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan", "100000");
    sleeper_start();
    for (unsigned i = 0; i < OBJECTS; i++) {
        CHECK((objects[i] = malloc(size_of(i))) != NULL);
        memset(objects[i], 1, size_of(i));
    }
    size_t full = resident_bytes();
    for (unsigned i = 0; i < OBJECTS; i++)
        if (i / 100 % KEPT) free(objects[i]);
    sleep(3);
    size_t after = resident_bytes(), huge = huge_bytes();
    sleep(5);
    size_t later = resident_bytes();
    dprintf(2, "full %zu KB, after 3 s %zu KB (huge pages %zu KB), after 8 s %zu KB (%zu KB)\n", full >> 10,
            after >> 10, huge >> 10, later >> 10, huge_bytes() >> 10);
    CHECK(later <= after + MB && after < full / 2);
}

enum { FIGURES = 2 };

/* What the kernel has promised so far, then all that can be had in objects of 4 KB. */
static void tell_figures(void) {
    size_t figures[FIGURES];
    CHECK(malloc(100) != NULL);
    figures[0] = proc_bytes("/proc/meminfo", "Committed_AS");
    for (char *object; (object = malloc(4096)) != NULL; figures[1] += 4096)
        if (figures[1] == 0) object[0] = 1;
    CHECK(write(STDOUT_FILENO, figures, sizeof figures) == sizeof figures);
}

/* This program again, on our malloc or on glibc's. */
static void ask_figures(bool preload, size_t figures[FIGURES]) {
    int ends[2], status;
    size_t before = proc_bytes("/proc/meminfo", "Committed_AS");
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (!preload) unsetenv("LD_PRELOAD");
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "settings", "figures", NULL);
        _exit(1);
    }
    close(ends[1]);
    CHECK(read(ends[0], figures, FIGURES * sizeof *figures) == FIGURES * sizeof *figures);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    figures[0] -= before;
}

static void overcommit(void) {
    size_t ours[FIGURES], theirs[FIGURES];
    set("/proc/sys/vm/overcommit_memory", "2");
    set("/proc/sys/vm/overcommit_kbytes", "409600");
    ask_figures(true, ours);
    ask_figures(false, theirs);
    dprintf(2, "charged %zu KB, glibc %zu KB; to be had %zu KB, glibc %zu KB\n", ours[0] >> 10, theirs[0] >> 10,
            ours[1] >> 10, theirs[1] >> 10);
    CHECK(ours[0] <= theirs[0] + 4 * MB && ours[1] + 4 * MB >= theirs[1]);
}

/* process/pressure.c in a group with a limit: whether it lives. */
static bool lives(char **arguments, bool preload) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        set("/sys/fs/cgroup/limited/cgroup.procs", "0");
        if (!preload) unsetenv("LD_PRELOAD");
        execv(arguments[0], arguments);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
    return WIFEXITED(status);
}

static void group(char **arguments) {
    mkdir("/sys/fs/cgroup", 0755);
    if (mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) != 0 && errno != EBUSY) check_skip("no cgroup2");
    set("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
    CHECK(mkdir("/sys/fs/cgroup/limited", 0755) == 0);
    set("/sys/fs/cgroup/limited/memory.max", "160M");
    bool ours = lives(arguments, true), theirs = lives(arguments, false);
    rmdir("/sys/fs/cgroup/limited");
    dprintf(2, "ours %s, glibc %s\n", ours ? "lives" : "is killed", theirs ? "lives" : "is killed");
    CHECK(ours && !theirs);
}

int main(int count, char **arguments) {
    CHECK(count >= 2);
    const char *name = arguments[1];
    if (strcmp(name, "huge_pages") == 0) huge_pages();
    if (strcmp(name, "overcommit") == 0) overcommit();
    if (strcmp(name, "figures") == 0) tell_figures();
    if (strcmp(name, "group") == 0) group(arguments + 2);
    return 0;
}
