/* bench.h - what the drivers share: arguments, random numbers, tagged objects, threads, one line of results.
 *
 * Nothing here allocates from the heap that is measured: tables are mapped, results are printed when all is over.
 */
#ifndef BENCH_H
#define BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE_TABLE = 8 << 20, STACK = 256 * 1024, MOST_OCTAVES = 24, MOST_SIZE = 8 << MOST_OCTAVES };

#ifdef BENCH_LATENCY
#include "latency.h"
#else
#define measured_malloc malloc
#define measured_free free
#endif

/* What a thread writes all the time shares no line, nor the pair of lines that processors fetch, with another's. */
#define OWN_LINES _Alignas(128)

/* In place of assert, which some builds leave out. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) fail(__FILE__, __LINE__, #condition);                                                        \
    } while (0)

static inline void fail(const char *file, int line, const char *what) {
    dprintf(STDERR_FILENO, "%s:%d: failed: %s (%s)\n", file, line, what, strerror(errno));
    _exit(3);
}

/* Zeroed and present. In huge pages where it is large, so that reading the resident size need not walk over it. */
static inline void *map_table(size_t size) {
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    if (size >= HUGE_TABLE) madvise(pages, size, MADV_HUGEPAGE);
    for (size_t offset = 0; offset < size; offset += PAGE) ((volatile char *)pages)[offset] = 0;
    return pages;
}

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Random numbers: xorshift64*, seeded through splitmix64 so that neighbouring seeds have nothing in common. */
struct random {
    uint64_t state;
};

static inline struct random random_from(uint64_t seed) {
    uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    return (struct random){(mixed ^ (mixed >> 27)) | 1};
}

static inline uint32_t random_next(struct random *random) {
    uint64_t state = random->state;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    random->state = state;
    return (uint32_t)((state * 0x2545f4914f6cdd1du) >> 32);
}

static inline uint32_t random_below(struct random *random, uint32_t bound) {
    return (uint32_t)(((uint64_t)random_next(random) * bound) >> 32);
}

/* Sizes from 8 B to 8 B << octaves: each octave, and each size in it, is as likely as any other. */
static inline size_t random_size(struct random *random, uint32_t octaves) {
    uint32_t number = random_next(random);
    uint32_t low = 8u << (((uint64_t)number * octaves) >> 32);
    return low + random_below(random, low + 1);
}

static inline size_t mean_size(uint32_t octaves) {
    return 12 * (((size_t)1 << octaves) - 1) / octaves;
}

/* A live object begins with its size and a tag of its address and size. It ends with the tag, and has a byte of the tag
 * in each page. All are looked at when it ends, and the first tag goes: so memory that is given out twice shows.
 */
struct mark {
    uint32_t size, tag;
};

static inline uint32_t object_tag(const char *object, uint32_t size) {
    uint64_t mixed = (uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15u + size * 0xc2b2ae3d27d4eb4fu;
    return (uint32_t)(mixed >> 32) | 1;
}

static inline char *object_make(size_t length) {
    char *object = measured_malloc(length);
    CHECK(object != NULL);
    struct mark old, mark = {(uint32_t)length, object_tag(object, (uint32_t)length)};
    /* Programs write before they read: a page that nobody has touched would else cost two faults. */
    if (length > sizeof mark) object[sizeof mark] = 0;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(&old, object, sizeof old);
    /* What other objects left here may look like a tag, but hardly has a size that is one, too. */
    CHECK(old.size < 8 || old.size > MOST_SIZE || old.tag != object_tag(object, old.size));
    for (size_t offset = PAGE; offset < length; offset += PAGE) object[offset] = (char)mark.tag;
    if (length >= sizeof mark + sizeof mark.tag) memcpy(object + length - sizeof mark.tag, &mark.tag, sizeof mark.tag);
    memcpy(object, &mark, sizeof mark);
    return object;
}

static inline uint32_t object_check(const char *object) {
    struct mark mark;
    uint32_t last;
    memcpy(&mark, object, sizeof mark);
    CHECK(mark.tag == object_tag(object, mark.size) && mark.size <= MOST_SIZE);
    last = mark.tag;
    if (mark.size >= sizeof mark + sizeof last) memcpy(&last, object + mark.size - sizeof last, sizeof last);
    CHECK(last == mark.tag);
    /* The last page's byte may be one of the last tag's. */
    for (size_t offset = PAGE; offset + sizeof last < mark.size; offset += PAGE)
        CHECK(object[offset] == (char)mark.tag);
    return mark.size;
}

static inline void object_end(char *object) {
    object_check(object);
    memset(object, 0, sizeof(struct mark));
    measured_free(object);
}

/* Options are NAME=NUMBER; every driver knows some of them. */
struct options {
    uint32_t threads;  /* that run at a time */
    uint32_t octaves;  /* of sizes: 4 is 8..128 B, 9 is 8 B..4 KB, 17 is 8 B..1 MB */
    uint64_t work;     /* allocations and frees, over all threads */
    uint64_t live;     /* bytes, about: how much is allocated at a time */
    uint32_t rounds;   /* of mstress */
    uint32_t sleep_ms; /* between its rounds */
};

static inline struct options options_read(int count, char **arguments) {
    struct options options = {1, 4, 1000000, 16 << 20, 10, 0};
    for (int i = 1; i < count; i++) {
        char name[16];
        unsigned long long value;
        CHECK(sscanf(arguments[i], "%15[a-z]=%llu", name, &value) == 2);
        if (strcmp(name, "threads") == 0) options.threads = (uint32_t)value;
        else if (strcmp(name, "octaves") == 0) options.octaves = (uint32_t)value;
        else if (strcmp(name, "work") == 0) options.work = value;
        else if (strcmp(name, "live") == 0) options.live = value;
        else if (strcmp(name, "rounds") == 0) options.rounds = (uint32_t)value;
        else if (strcmp(name, "sleep") == 0) options.sleep_ms = (uint32_t)value;
        else CHECK(!"an option that is known");
    }
    CHECK(options.threads > 0 && options.octaves > 0 && options.octaves <= MOST_OCTAVES && options.work > 0);
    return options;
}

/* Objects of a thread that make up its share of the live bytes. */
static inline uint32_t slots_per_thread(const struct options *options, uint32_t most) {
    uint64_t slots = options->live / options->threads / mean_size(options->octaves);
    return slots < 8 ? 8 : slots > most ? most : (uint32_t)slots;
}

static inline void thread_start(pthread_t *thread, void *(*entry)(void *), void *argument) {
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK) == 0);
    CHECK(pthread_create(thread, &attributes, entry, argument) == 0);
    pthread_attr_destroy(&attributes);
}

/* Time and processor time of the measured part, user and kernel apart. */
struct measure {
    double seconds, user, system;
};

static inline struct measure measure_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct measure){seconds_now(), (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6,
                            (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6};
}

static inline long status_kilobytes(const char *field) {
    char text[4096];
    int file = open("/proc/self/status", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    const char *line = strstr(text, field);
    return line != NULL ? atol(line + strlen(field) + 1) : -1;
}

/* The line of results that ends every driver. */
static inline void measure_print(struct measure start, struct measure end, uint64_t operations) {
    dprintf(STDOUT_FILENO,
            "{\"operations\": %llu, \"seconds\": %.6f, \"user\": %.6f, \"system\": %.6f, \"peak_kb\": %ld}\n",
            (unsigned long long)operations, end.seconds - start.seconds, end.user - start.user,
            end.system - start.system, status_kilobytes("VmHWM:"));
}

#endif
