/* check.h - what every test program shares: a check that always fires, repeatable random numbers, and byte patterns.
 *
 * Checks and patterns do not allocate, so that a failing allocator can still be reported.
 */
#ifndef JW_TESTS_CHECK_H
#define JW_TESTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A size that no machine has: on 32 bits PTRDIFF_MAX, half the address space, may really be there. */
#define IMPOSSIBLE_SIZE (sizeof(size_t) > 4 ? (size_t)PTRDIFF_MAX - 65536 : SIZE_MAX - 65536)

/* ctest takes this exit code as "skipped". */
#define SKIPPED 77

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

static inline void check_failed(const char *file, int line, const char *condition) {
    dprintf(STDERR_FILENO, "%s:%d: CHECK failed: %s\n", file, line, condition);
    _exit(1);
}

/* Polls, up to 20 s, what a process brings about by itself in real time, such as rounds of reclamation. */
#define AWAIT(condition)                                                                                               \
    do {                                                                                                               \
        for (int tries = 0; !(condition); tries++, usleep(10000))                                                      \
            if (tries == 2000) check_failed(__FILE__, __LINE__, "within 20 s: " #condition);                           \
    } while (0)

static inline void check_skip(const char *reason) {
    dprintf(STDERR_FILENO, "skipped: %s\n", reason);
    _exit(SKIPPED);
}

/* splitmix64: any seed is good, the sequence is the same everywhere. */
static inline uint64_t random_next(uint64_t *state) {
    uint64_t word = (*state += 0x9e3779b97f4a7c15u);
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

static inline uint64_t random_below(uint64_t *state, uint64_t bound) {
    return random_next(state) % bound;
}

/* The byte pattern of an object depends on its seed and the offset only, so that a prefix survives realloc. */
static inline uint64_t pattern_word(uint64_t seed, size_t index) {
    return (seed + index + 1) * 0x9e3779b97f4a7c15u;
}

/* Any word of memory: a call of memcpy for each would be most of what the tests do (-fno-builtin). */
typedef uint64_t __attribute__((may_alias, aligned(1))) any_word;

static inline void pattern_fill(void *object, size_t size, uint64_t seed) {
    any_word *words = (any_word *)object;
    for (size_t i = 0; i < size / 8; i++) words[i] = pattern_word(seed, i);
    uint64_t last = pattern_word(seed, size / 8);
    memcpy(&words[size / 8], &last, size % 8);
}

static inline bool pattern_holds(const void *object, size_t size, uint64_t seed) {
    const any_word *words = (const any_word *)object;
    for (size_t i = 0; i < size / 8; i++)
        if (words[i] != pattern_word(seed, i)) return false;
    uint64_t last = pattern_word(seed, size / 8);
    return memcmp(&words[size / 8], &last, size % 8) == 0;
}

static inline bool bytes_are_zero(const void *object, size_t size) {
    const char *bytes = (const char *)object;
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* Bytes that a line like "Anonymous:   123 kB" of a file of /proc gives; 0 when there is no such line. */
static inline size_t proc_bytes(const char *path, const char *key) {
    char line[256];
    size_t kilobytes = 0, length = strlen(key);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, length) == 0 && sscanf(line + length, ": %zu kB", &kilobytes) == 1) break;
    fclose(file);
    return kilobytes * 1024;
}

/* Resident memory that no file stands behind: the heap and the stacks. The rollup is exact, "status" is not. Under an
 * emulator or a sanitizer it would be theirs too, so no memory is seen there. */
static inline size_t resident_bytes(void) {
#ifdef JW_RESIDENT_UNKNOWN
    return 0;
#endif
    return proc_bytes("/proc/self/smaps_rollup", "Anonymous");
}

#endif
