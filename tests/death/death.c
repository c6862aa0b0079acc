/* death.c - misuse that must be seen: one case each, in a process of its own that must end in one line and SIGABRT.
 *
 *   death CASE     runs one case and checks how it ended; without CASE, all of them.
 */
#include <malloc.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"
#include "entry_points.h"

#define KB ((size_t)1024)
#define MB (1024 * KB)

static char *object(size_t size) {
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    memset(bytes, 0x5a, size);
    return bytes;
}

static void free_twice(size_t size) {
    char *bytes = object(size);
    free(bytes);
    free(bytes);
}

static void *free_in_thread(void *bytes) {
    free(bytes);
    return NULL;
}

static void free_elsewhere(void *bytes) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, free_in_thread, bytes) == 0);
    pthread_join(thread, NULL);
}

/* Pointers that were never given out. */
static void free_of_stack(void) {
    char local[64];
    free(local + ((uintptr_t) - (intptr_t)local & 15));
}

static void free_of_static(void) {
    static _Alignas(16) char area[256];
    free(area + 16);
}

static void free_of_code(void) {
    free((void *)((uintptr_t)&free_of_code & ~(uintptr_t)15));
}

static void free_of_low_address(void) {
    free((void *)(uintptr_t)16);
}

static void free_of_high_address(void) {
    free((void *)(UINTPTR_MAX - 4095));
}

static void free_of_own_mapping(void) {
    char *pages = mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    free(pages + 4 * KB);
}

__attribute__((weak)) void *__libc_malloc(size_t size);

static void free_of_libc_object(void) {
    CHECK(__libc_malloc != NULL);
    free(__libc_malloc(100));
}

static void realloc_of_stack(void) {
    _Alignas(16) char local[64];
    CHECK(realloc(local, 100) == NULL);
}

static void usable_size_of_static(void) {
    static _Alignas(16) char area[256];
    CHECK(malloc_usable_size(area) == 0);
}

/* Pointers into the middle of an object. */
static void free_inside_small(void) {
    free(object(64) + 16);
}

static void free_inside_small_unaligned(void) {
    free(object(160) + 1);
}

static void free_inside_small_elsewhere(void) {
    free_elsewhere(object(160) + 8);
}

static void free_of_slab_header(void) {
    free((void *)((uintptr_t)object(64) & ~(uintptr_t)4095));
}

static void free_inside_mid(void) {
    free(object(5 * KB) + 16);
}

static void free_inside_large(void) {
    free(object(256 * KB) + 64 * KB);
}

static void free_inside_large_unaligned(void) {
    free(object(256 * KB) + 16);
}

static void free_inside_huge(void) {
    free(object(9 * MB) + 64 * KB);
}

static void free_deep_inside_huge(void) {
    free(object(9 * MB) + 4 * MB + 64 * KB);
}

static void realloc_inside_large(void) {
    CHECK(realloc(object(256 * KB) + 64 * KB, 100) == NULL);
}

/* Pointers that are free already. */
static void double_free_mid(void) {
    free_twice(5 * KB);
}

static void double_free_large(void) {
    free_twice(100 * KB);
}

static void double_free_largest_range(void) {
    free_twice(4 * MB);
}

static void double_free_huge(void) {
    free_twice(9 * MB);
}

static void double_free_large_elsewhere(void) {
    char *bytes = object(100 * KB);
    free_elsewhere(bytes);
    free(bytes);
}

static void double_free_joined_large(void) {
    char *bytes[3] = {object(64 * KB), object(64 * KB), object(64 * KB)};
    for (size_t i = 0; i < 3; i++) free(bytes[i]);
    free(bytes[1]);
}

static void double_free_after_trim(void) {
    enum { COUNT = 10000 };
    static char *bytes[COUNT];
    for (size_t i = 0; i < COUNT; i++) bytes[i] = object(200);
    for (size_t i = 0; i < COUNT; i++) free(bytes[i]);
    malloc_trim(0);
    free(bytes[COUNT / 2]);
}

static void realloc_of_freed_large(void) {
    char *bytes = object(100 * KB);
    free(bytes);
    CHECK(realloc(bytes, 200) == NULL);
}

static void realloc_of_freed_huge(void) {
    char *bytes = object(9 * MB);
    free(bytes);
    CHECK(realloc(bytes, 20 * MB) == NULL);
}

/* The operators exist in a program without C++ runtime too: there they have nobody to throw to. */
#if UINTPTR_MAX > 0xffffffffu
__attribute__((weak)) void *_Znwm(size_t size);
#define operator_new _Znwm
#else
__attribute__((weak)) void *_Znwj(size_t size);
#define operator_new _Znwj
#endif
__attribute__((weak)) void _ZdlPv(void *object);

static void operator_new_without_memory(void) {
    CHECK(operator_new != NULL && _ZdlPv != NULL);
    void *bytes = operator_new(1000);
    CHECK(bytes != NULL);
    memset(bytes, 1, 1000);
    _ZdlPv(bytes);
    operator_new(IMPOSSIBLE_SIZE);
}

#define ADDRESS                                                                                                        \
    ": address 0x[0-9a-f]+, tier (none|small|mid|large|huge), size class (none|[0-9]+ B), "                            \
    "owner thread (none|ended|[0-9]+) \\([^()]+\\)"
#define INVALID_FREE "invalid free" ADDRESS
#define INVALID "invalid pointer" ADDRESS
#define DOUBLE_FREE "(double|invalid) free" ADDRESS

static const struct death {
    const char *name;
    void (*misuse)(void);
    const char *message;
} deaths[] = {
    {"free_of_stack", free_of_stack, INVALID_FREE},
    {"free_of_static", free_of_static, INVALID_FREE},
    {"free_of_code", free_of_code, INVALID_FREE},
    {"free_of_low_address", free_of_low_address, INVALID_FREE},
    {"free_of_high_address", free_of_high_address, INVALID_FREE},
    {"free_of_own_mapping", free_of_own_mapping, INVALID_FREE},
    {"free_of_libc_object", free_of_libc_object, INVALID_FREE},
    {"realloc_of_stack", realloc_of_stack, INVALID},
    {"usable_size_of_static", usable_size_of_static, INVALID},
    {"free_inside_small", free_inside_small, INVALID_FREE},
    {"free_inside_small_unaligned", free_inside_small_unaligned, INVALID_FREE},
    {"free_inside_small_elsewhere", free_inside_small_elsewhere, INVALID_FREE},
    {"free_of_slab_header", free_of_slab_header, INVALID_FREE},
    {"free_inside_mid", free_inside_mid, INVALID_FREE},
    {"free_inside_large", free_inside_large, INVALID_FREE},
    {"free_inside_large_unaligned", free_inside_large_unaligned, INVALID_FREE},
    {"free_inside_huge", free_inside_huge, INVALID_FREE},
    {"free_deep_inside_huge", free_deep_inside_huge, INVALID_FREE},
    {"realloc_inside_large", realloc_inside_large, INVALID},
    {"double_free_mid", double_free_mid, DOUBLE_FREE},
    {"double_free_large", double_free_large, DOUBLE_FREE},
    {"double_free_largest_range", double_free_largest_range, DOUBLE_FREE},
    {"double_free_huge", double_free_huge, DOUBLE_FREE},
    {"double_free_large_elsewhere", double_free_large_elsewhere, DOUBLE_FREE},
    {"double_free_joined_large", double_free_joined_large, DOUBLE_FREE},
    {"double_free_after_trim", double_free_after_trim, DOUBLE_FREE},
    {"realloc_of_freed_large", realloc_of_freed_large, INVALID},
    {"realloc_of_freed_huge", realloc_of_freed_huge, INVALID},
    {"operator_new_without_memory", operator_new_without_memory,
     "operator new: no memory for [0-9]+ bytes, and no C\\+\\+ runtime to throw std::bad_alloc"},
};

/* What the case wrote to standard error, without the remark that qemu-user adds to a death. */
static int run(const struct death *death, char *text, size_t size) {
    int ends[2], status;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        death->misuse();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, size - 1 - length)) > 0;) length += (size_t)got;
    text[length] = 0;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    char *remark = strstr(text, "qemu: ");
    if (remark != NULL) *remark = 0;
    return status;
}

static bool dies_as_promised(const struct death *death) {
    char text[4096], pattern[256];
    regex_t promised;
    int status = run(death, text, sizeof text);
    snprintf(pattern, sizeof pattern, "^jwmalloc: %s\n$", death->message);
    CHECK(regcomp(&promised, pattern, REG_EXTENDED | REG_NOSUB) == 0);
    bool right = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && regexec(&promised, text, 0, NULL, 0) == 0;
    regfree(&promised);
    printf("%-32s %s: status %#x, said: %s\n", death->name, right ? "ok" : "WRONG", (unsigned)status, text);
    fflush(stdout);
    return right;
}

int main(int count, char **arguments) {
    bool right = true, found = false;
    if (!under_jwmalloc()) check_skip("the C library's malloc has words of its own");
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        if (count > 1 && strcmp(arguments[1], deaths[i].name) != 0) continue;
        found = true;
        right &= dies_as_promised(&deaths[i]);
    }
    CHECK(found);
    return right ? 0 : 1;
}
