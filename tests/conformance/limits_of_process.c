/* limits_of_process.c - limits of the process: address space, threads, memory of a cgroup; what a sandbox forbids. */
#include "cases.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void limit(int resource, size_t value) {
    struct rlimit limits = {value, value};
    CHECK(setrlimit((__rlimit_resource_t)resource, &limits) == 0);
}

static void leave_room(size_t room) {
    limit(RLIMIT_AS, proc_bytes("/proc/self/status", "VmSize") + room);
}

/* Fills memory until it ends, frees it, and does so again: no less fits. */
static size_t fill(size_t size) {
    void **first = NULL;
    size_t count = 0;
    errno = 0;
    for (void **object; (object = malloc(size)) != NULL; first = object, count++) *object = first;
    CHECK(errno == ENOMEM);
    while (first != NULL) {
        void **next = *first;
        free(first);
        first = next;
    }
    return count;
}

static void until_memory_ends(size_t size, size_t unused) {
    (void)unused;
    tiers_work(1);
    leave_room(64 * MB);
    size_t first = fill(size);
    CHECK(first * size > 16 * MB);
    for (int i = 0; i < 3; i++) CHECK(fill(size) >= first - first / 8);
    tiers_work(2);
}

static void other_size_after_memory_ended(size_t size, size_t other) {
    tiers_work(1);
    leave_room(64 * MB);
    CHECK(fill(size) > 0);
    CHECK(fill(other) * other > 16 * MB);
}

static void realloc_until_memory_ends(size_t step, size_t unused) {
    (void)unused;
    leave_room(48 * MB);
    size_t size = step;
    char *object = malloc(size), *grown;
    CHECK(object != NULL);
    pattern_fill(object, size, 1);
    for (errno = 0; (grown = realloc(object, size + step)) != NULL; object = grown) {
        size += step;
        pattern_fill(grown + size - step, step & ~(size_t)7, (size - step) / 8 + 1);
    }
    CHECK(errno == ENOMEM && pattern_holds(object, step, 1) && size > 4 * MB);
    free(object);
    tiers_work(1);
}

/* A smaller size needs no memory: the object is there. errno stays, and the size may be told at the free. */
static void shrinks_after_memory_ended(size_t size, size_t unused) {
    enum { COUNT = 20, OLD_ERROR = 77 };
    extern void free_sized(void *object, size_t size) __attribute__((weak));
    char *objects[COUNT], *rest = malloc(MB); /* for what the process's end allocates */
    (void)unused;
    CHECK(rest != NULL);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK((objects[i] = malloc(size)) != NULL);
        pattern_fill(objects[i], size, i);
    }
    leave_room(32 * MB);
    for (size_t filling = 16 * MB; filling >= 16; filling /= 2)
        for (void **last = NULL, **object; (object = malloc(filling)) != NULL; last = object) *object = last;
    for (size_t i = 0; i < COUNT; i++) {
        size_t now = size - size / 16 - i;
        for (;; now /= 3) {
            errno = OLD_ERROR;
            objects[i] = realloc(objects[i], now);
            CHECK(objects[i] != NULL && errno == OLD_ERROR && malloc_usable_size(objects[i]) >= now);
            CHECK(pattern_holds(objects[i], now, i));
            if (now < 30) break;
        }
        if (free_sized != NULL && i % 2 > 0) free_sized(objects[i], now);
        else free(objects[i]);
    }
    free(rest);
}

static void *fail_in_thread(void *size) {
    for (int i = 0; i < 200; i++) {
        errno = 0;
        CHECK(malloc(SIZE_MAX / 4) == NULL && errno == ENOMEM);
        void *object = malloc((size_t)(uintptr_t)size);
        CHECK(object != NULL || errno == ENOMEM);
        free(object);
    }
    return NULL;
}

static void threads_until_memory_ends(size_t count, size_t unused) {
    (void)unused;
    pthread_t threads[16];
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 * KB) == 0);
    tiers_work(1);
    leave_room(24 * MB);
    for (size_t i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], &attributes, fail_in_thread, (void *)((uintptr_t)100 << 2 * i % 16)) == 0);
    for (size_t i = 0; i < count; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    tiers_work(1);
}

/* --- Limits that have nothing to do with memory, or little */

static void under_limit(size_t resource, size_t value) {
    limit((int)resource, value);
    for (uint64_t i = 0; i < 50; i++) tiers_work(i);
    malloc_trim(0);
    tiers_work(1);
}

static void started_under_limit(size_t resource, size_t value) {
    limit((int)resource, value);
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); s=\"$s $i\"; done; [ ${#s} -gt 900 ]",
          (char *)NULL);
    CHECK(false);
}

static void no_more_threads(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    if (getuid() == 0) CHECK(setresuid(65534, 65534, 65534) == 0);
    under_limit(RLIMIT_NPROC, 1);
}

static void all_locked(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) check_skip("no memory may be locked");
    for (uint64_t i = 0; i < 10; i++) tiers_work(i);
    malloc_trim(0);
    char *object = malloc(8 * MB);
    CHECK(object != NULL && bytes_are_zero(object, 0));
    free(object);
}

/* Nothing but read, write and exit: small objects that were there before go round. */
static void strict_sandbox(size_t size, size_t unused) {
    (void)unused;
    if (is_hardened())
        check_skip("any malloc may need a slab, and mprotect for its guard: the quarantine's order is random");
    for (int i = 0; i < 10; i++) free(malloc(size));
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) != 0) check_skip("no seccomp");
    for (int i = 0; i < 1000; i++) {
        char *object = malloc(size);
        object[0] = 1;
        free(object);
    }
    syscall(SYS_exit, 0);
}

/* --- A cgroup's memory limit: the kernel refuses nothing there, it kills */

static bool write_file(const char *directory, const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_WRONLY);
    bool written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0) close(file);
    return written;
}

static char group[200];

static void leave_group(void) {
    rmdir(group);
}

/* Of version 2 or 1; false: none can be made here. */
static bool make_group(const char *parent, const char *file, size_t bytes) {
    char text[32];
    snprintf(group, sizeof group, "%s/jwmalloc-conformance-%d", parent, getpid());
    if (mkdir(group, 0700) != 0) return false;
    snprintf(text, sizeof text, "%zu", bytes);
    if (write_file(group, file, text)) return true;
    leave_group();
    return false;
}

/* Waves of objects of one size, a bit more than half of what the group may have: what one wave has freed must be there
 * for the next, whatever its size. */
static void live_in_waves(void) {
    static const size_t sizes[] = {48, 200000, 2000, 5 * MB, 700, 20000, 9000, MB, 3000};
    const size_t wave = 36 * MB;
    for (int round = 0; round < 18; round++) {
        size_t size = sizes[round % 9], count = 0;
        void **first = NULL;
        for (; count * size < wave; count++) {
            void **object = malloc(size);
            CHECK(object != NULL);
            memset(object, 1, size);
            *object = first;
            first = object;
        }
        while (first != NULL) {
            void **next = *first;
            free(first);
            first = next;
        }
    }
}

static void waves_in_a_group(size_t megabytes, size_t unused) {
    (void)unused;
    if (!make_group("/sys/fs/cgroup", "memory.max", megabytes * MB) &&
        !make_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", megabytes * MB))
        check_skip("no cgroup with a memory limit can be made here");
    atexit(leave_group);
    write_file(group, "memory.swap.max", "0");
    pid_t child = fork();
    if (child == 0) {
        if (!write_file(group, "cgroup.procs", "0")) _exit(SKIPPED);
        live_in_waves();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    leave_group();
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) check_skip("a cgroup takes no process here");
    CHECK(status == 0);
}

void add_limits_of_process(void) {
    const size_t sizes[] = {100, 2000, 3000, 14000, 100000, MB, 6 * MB};
    for (size_t i = 0; i < 7; i++) {
        add("RLIMIT_AS, objects of %zu bytes", until_memory_ends, sizes[i], 0);
        add("RLIMIT_AS, %zu then %zu bytes", other_size_after_memory_ended, sizes[i], sizes[(i + 3) % 7]);
        add("RLIMIT_AS, realloc from %zu bytes", shrinks_after_memory_ended, sizes[i], 0);
    }
    add("RLIMIT_AS, realloc by %zu", realloc_until_memory_ends, 4096, 0);
    add("RLIMIT_AS, realloc by %zu", realloc_until_memory_ends, MB, 0);
    add("RLIMIT_AS, %zu threads", threads_until_memory_ends, 8, 0);
    add("resource %zu limited to %zu", under_limit, RLIMIT_NOFILE, 0);
    add("resource %zu limited to %zu", under_limit, RLIMIT_FSIZE, 0);
    add("resource %zu limited to %zu", under_limit, RLIMIT_CORE, 0);
    add("resource %zu limited to %zu", under_limit, RLIMIT_MEMLOCK, 0);
    add("resource %zu limited to %zu", under_limit, RLIMIT_STACK, 64 * KB);
    add("started with resource %zu at %zx", started_under_limit, RLIMIT_STACK, RLIM_INFINITY);
    add("started with resource %zu at %zx", started_under_limit, RLIMIT_STACK, MB);
    for (size_t limit = 32 * MB; limit <= 512 * MB; limit *= 4)
        add("started with resource %zu at %zx", started_under_limit, RLIMIT_AS, limit);
    add("RLIMIT_NPROC", no_more_threads, 0, 0);
    add("all memory locked", all_locked, 0, 0);
    for (size_t size = 8; size < 2000; size *= 5) add("strict seccomp, %zu bytes", strict_sandbox, size, 0);
    /* guards, trailers and the quarantine take memory of their own: a peak of 63.2 MB, and the kernel's tables */
    add("waves in a cgroup of %zu MB", waves_in_a_group, is_hardened() ? 72 : 64, 0);
}
