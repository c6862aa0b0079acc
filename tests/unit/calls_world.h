/* calls_world.h - the world of a script that makes system calls (calls.h): places of mappings, files, rights, random
 * numbers are always the same. A script orders what it is to be told. */
#ifndef JW_TESTS_CALLS_WORLD_H
#define JW_TESTS_CALLS_WORLD_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/stat.h>
#include <linux/types.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "check.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { ANSWERS = 64, FILES = 16 };
enum { FIRST_FILE = 20, FIRST_COPY = 100 };

#define ARENA_TOP ((uintptr_t)0x50000000)
#define ARENA_LOW ((uintptr_t)0x30000000)
/* What the kernel answers. */
static struct {
    uintptr_t cursor; /* the arena is mapped downwards from here */
    struct {
        const char *name;
        long value;
    } answers[ANSWERS]; /* for the next calls of these names */
    struct {
        const char *path, *contents; /* contents NULL: cannot be opened */
        size_t at;
    } files[FILES];           /* descriptors from FIRST_FILE on */
    uint64_t identities[256]; /* of descriptors; 0: closed */
    uint64_t limits[RLIM_NLIMITS];
    uint32_t users[3], groups[3], capabilities[2];
    unsigned long auxiliary[64];
    bool auxiliary_known[64];
    uint64_t random;
    bool confines; /* rights are really given up */
    bool shows_filter;
    struct timespec time; /* 0: the real time; else it stands still, and each thread has the number 4711 */
    int finds_module;     /* what dladdr says */
    const char *module;   /* and the name */
    const char *libc;     /* its version */
    bool silent;          /* calls that ask for rights say 0 and write nothing */
} world;

static void new_world(void) {
    world.cursor = ARENA_TOP;
    world.libc = "2.36";
    world.random = 0x123456789abcdef;
    for (unsigned i = 0; i < RLIM_NLIMITS; i++) world.limits[i] = UINT64_MAX;
    world.limits[RLIMIT_RTPRIO] = 0;
    world.identities[0] = world.identities[1] = 5;
    world.identities[2] = 7;
}

/* --- What a script orders --------------------------------------------------------------------------------------- */

/* The next call of that name that has no answer yet gets this one, without effect. */
static void will(const char *name, long value) {
    unsigned i = 0;
    while (world.answers[i].name) CHECK(++i < ANSWERS);
    world.answers[i].name = name;
    world.answers[i].value = value;
}

static void has_file(const char *path, const char *contents) {
    unsigned i = 0;
    while (world.files[i].path && strcmp(world.files[i].path, path) != 0) CHECK(++i < FILES);
    world.files[i].path = path;
    world.files[i].contents = contents;
    world.identities[FIRST_FILE + i] = 1000 + i;
}

static void auxiliary_is(unsigned long type, unsigned long value) {
    world.auxiliary[type] = value;
    world.auxiliary_known[type] = true;
}

unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type) {
    return type < 64 && world.auxiliary_known[type] ? world.auxiliary[type] : __real_getauxval(type);
}

/* --- What it answers ------------------------------------------------------------------------------------------- */

static long map_in_arena(const __u64 *arguments) {
    size_t size = (size_t)arguments[1];
    int protection = (int)arguments[2], flags = (int)arguments[3];
    uintptr_t wish = (uintptr_t)arguments[0];
    if (size == 0 || size > ARENA_TOP * 8) return -ENOMEM;
    if (wish != 0) {
        void *got = mmap((void *)wish, size, protection, flags | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == (void *)wish) return (long)wish;
        if (got != MAP_FAILED) munmap(got, size);
    }
    for (uintptr_t at = world.cursor - size; at > ARENA_LOW && at < ARENA_TOP; at -= 4096) {
        void *got = mmap((void *)at, size, protection, flags | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == MAP_FAILED) continue;
        if (got == (void *)at) return (long)(world.cursor = at);
        munmap(got, size);
    }
    return -ENOMEM;
}

static long open_file(const char *path) {
    for (unsigned i = 0; i < FILES && world.files[i].path; i++)
        if (strcmp(world.files[i].path, path) == 0) {
            world.files[i].at = 0;
            return world.files[i].contents ? FIRST_FILE + (long)i : -EACCES;
        }
    return -ENOENT;
}

static long copy_file(long file) {
    if (file < 0 || file >= FIRST_COPY || world.identities[file] == 0) return -EBADF;
    world.identities[FIRST_COPY + file] = world.identities[file];
    return FIRST_COPY + file;
}

static long identify(long file, void *target) {
    struct statx *status = target;
    if (file < 0 || file >= 256 || world.identities[file] == 0) return -EBADF;
    status->stx_ino = world.identities[file] % 10000;
    status->stx_dev_major = (uint32_t)(world.identities[file] / 10000 % 10);
    status->stx_dev_minor = (uint32_t)(world.identities[file] / 100000);
    return 0;
}

/* `at`: SIZE_MAX: where the last read has ended. */
static long read_file(long file, void *target, size_t size, size_t at) {
    if (file < 0 || file >= 256) return -EBADF;
    unsigned i = world.identities[file] >= 1000 ? (unsigned)(world.identities[file] - 1000) : FILES;
    if (i >= FILES || !world.files[i].contents) return -EBADF;
    size_t from = at == SIZE_MAX ? world.files[i].at : at, length = strlen(world.files[i].contents + from);
    if (length > size) length = size;
    memcpy(target, world.files[i].contents + from, length);
    world.files[i].at = from + length;
    return (long)length;
}

static long three_numbers(const __u64 *arguments, const uint32_t numbers[3]) {
    for (unsigned i = 0; i < 3 && !world.silent; i++) *(uint32_t *)(uintptr_t)arguments[i] = numbers[i];
    return 0;
}

static long tell_capabilities(uint32_t *data) {
    if (world.silent) return 0;
    memset(data, 0, 6 * sizeof *data);
    data[1] = world.capabilities[0];
    data[4] = world.capabilities[1];
    return 0;
}

/* False: the kernel itself is to answer. */
static bool answer_of_world(const char *name, const __u64 *arguments, long *value) {
    void *second = (void *)(uintptr_t)arguments[1];
    *value = 0;
    for (unsigned i = 0; i < ANSWERS; i++)
        if (world.answers[i].name && strcmp(world.answers[i].name, name) == 0) {
            *value = world.answers[i].value;
            world.answers[i].name = "";
            return true;
        }
#define IS(word) (strcmp(name, word) == 0)
    if (IS("mmap")) *value = map_in_arena(arguments);
    else if (IS("open")) *value = open_file(second);
    else if (IS("close")) *value = 0;
    else if (IS("fcntl")) *value = copy_file((long)arguments[0]);
    else if (IS("statx")) *value = identify((long)arguments[0], (void *)(uintptr_t)arguments[4]);
    else if (IS("read")) *value = read_file((long)arguments[0], second, (size_t)arguments[2], SIZE_MAX);
    else if (IS("pread64")) *value = read_file((long)arguments[0], second, (size_t)arguments[2], 0);
    else if (IS("write")) *value = (long)arguments[2];
    else if (IS("prlimit64"))
        ((uint64_t *)(uintptr_t)arguments[3])[0] = world.limits[arguments[1]],
                   ((uint64_t *)(uintptr_t)arguments[3])[1] = world.limits[arguments[1]] / 2;
    else if (IS("getrandom"))
        memcpy((void *)(uintptr_t)arguments[0], &world.random, 8), *value = 8, world.random += 0x9e3779b97f4a7c15u;
    else if (IS("clock_gettime")) ((long *)second)[0] = 1234567;
    else if (IS("getresuid")) *value = three_numbers(arguments, world.users);
    else if (IS("getresgid")) *value = three_numbers(arguments, world.groups);
    else if (IS("capget")) *value = tell_capabilities(second);
    else if (IS("futex")) *value = (arguments[1] & 127) == FUTEX_WAIT ? -ETIMEDOUT : 0;
    else if (IS("name") || IS("setpriority")) *value = 0;
    else if (IS("getpriority")) *value = 20;
    else if (IS("sigaction") || IS("sigtimedwait")) *value = 0;
    else if (IS("tgkill") && arguments[2] != 0) *value = 0;
    else
        return !world.confines && (IS("capset") || IS("no-new-privs") || IS("seccomp") || IS("thread-name") ||
                                   strncmp(name, "sched_", 6) == 0);
#undef IS
    return true;
}

#endif
