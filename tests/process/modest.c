/* modest.c - how much memory a program needs that keeps little alive; each shape has its bound.
 *
 *   modest waves ORDER    60 MB of each of seven sizes in turn; ORDER says how they are freed: `turns`, all as they
 *                         were allocated; `random`, all in random order; `replaced`, one by one by the next wave;
 *                         `odd`: as `turns`, with sizes whose ranges have gaps between them; `handed`: as `turns`, by
 *                         another thread, which lives as long as the program; `handed_huge`: the same with tiny and
 *                         huge ones; `handed_odd`: with the sizes of `odd`; `handed_mixed`: with small sizes and
 *                         others in turn
 *   modest asleep         100 threads sleep, each of which keeps 17 objects of what it has allocated
 *   modest threads OBJECTS  2,000 threads sleep, each of which has so many objects of 16 to 2,000 B
 *
 * The figures are printed, so that any allocator can be asked: LD_PRELOAD=... modest waves random
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"

#define MB ((size_t)1 << 20)

enum { ALIVE = 60, WAVES_BOUND = 72, HUGE_BOUND = 77, WAVES = 14 };

static const uint32_t even_sizes[] = {64, 256, 1024, 4096, 16384, 65536, 262144};
static const uint32_t odd_sizes[] = {5120, 2 << 20, 20480, 1 << 20, 28672, 4000000, 10240};
static const uint32_t huge_sizes[] = {32, 5000000, 64, 8000000, 128, 5000000, 256};
static const uint32_t mixed_sizes[] = {1024, 8192, 64, 262144, 1024, 8192, 2048};
enum { WAVE_SIZES = sizeof even_sizes / sizeof *even_sizes, MOST_OBJECTS = 2 * (ALIVE << 20) / 32 };

static char *objects[MOST_OBJECTS];
static uint32_t lengths[MOST_OBJECTS]; /* a ring: from `first` on so many */
static size_t first, count, alive;
static uint64_t seed;

static char **at(size_t i) {
    return &objects[(first + i) % MOST_OBJECTS];
}

static void add(uint32_t size) {
    char *object = malloc(size);
    CHECK(object != NULL);
    memset(object, 1, size);
    lengths[(first + count) % MOST_OBJECTS] = size;
    *at(count++) = object;
    alive += size;
}

static void free_first(void) {
    free(*at(0));
    alive -= lengths[first];
    first = (first + 1) % MOST_OBJECTS;
    count--;
}

static void shuffle(void) {
    for (size_t i = count; i > 1; i--) {
        char **one = at(i - 1), **other = at((size_t)random_below(&seed, i)), *object = *one;
        *one = *other;
        *other = object;
    }
}

static size_t peak(void) {
    return proc_bytes("/proc/self/status", "VmHWM");
}

/* The peak also depends on when the reclamation thread gets a processor. So a process that is above the bound starts
 * anew, twice at most; an allocator that needs the memory is above it each time. */
static void check_peak(size_t bound, char **argument) {
    static const char *const later[] = {"1", "2"};
    const char *tried = getenv("MODEST_TRIED");
    unsigned tries = tried ? (unsigned)strtoul(tried, NULL, 10) : 0;
    if (peak() > bound && tries < 2) {
        CHECK(setenv("MODEST_TRIED", later[tries], 1) == 0);
        fflush(NULL);
        execv("/proc/self/exe", argument);
    }
    CHECK(peak() <= bound);
}

static pthread_barrier_t hand_over;

static void *freeing(void *unused) {
    for (;;) {
        pthread_barrier_wait(&hand_over);
        while (count > 0) free_first();
        pthread_barrier_wait(&hand_over);
    }
    return unused;
}

static void free_by_other(void) {
    pthread_barrier_wait(&hand_over);
    pthread_barrier_wait(&hand_over);
}

static void waves(char **argument) {
    const char *order = argument[2];
    const char *kind = strchr(order, '_');
    bool huge = kind && strcmp(kind, "_huge") == 0, handed = strncmp(order, "handed", strlen("handed")) == 0;
    bool odd = strcmp(order, "odd") == 0 || (kind && strcmp(kind, "_odd") == 0);
    bool mixed = kind && strcmp(kind, "_mixed") == 0;
    pthread_t other;
    CHECK(pthread_barrier_init(&hand_over, NULL, 2) == 0);
    CHECK(!handed || pthread_create(&other, NULL, freeing, NULL) == 0);
    bool replaced = strcmp(order, "replaced") == 0;
    const uint32_t *sizes = huge ? huge_sizes : odd ? odd_sizes : mixed ? mixed_sizes : even_sizes;
    memset(objects, 1, sizeof objects);
    memset(lengths, 1, sizeof lengths);
    size_t before = proc_bytes("/proc/self/status", "VmRSS");
    for (unsigned wave = 0; wave < WAVES; wave++) {
        uint32_t size = sizes[wave % WAVE_SIZES];
        for (size_t done = 0; done + size <= ALIVE * MB; done += size) {
            while (alive + size > ALIVE * MB) free_first();
            add(size);
        }
        if (strcmp(order, "random") == 0) shuffle();
        if (handed) free_by_other();
        while (!replaced && count > 0) free_first();
    }
    printf("waves %s: %zu MB alive, at most %zu KB more than before\n", order, (size_t)ALIVE, (peak() - before) / 1024);
    if (under_jwmalloc()) check_peak(before + (huge ? HUGE_BOUND : WAVES_BOUND) * MB, argument);
}

enum { SLEEPERS = 100, KEPT = 17, REPLACED = 300, LITTLE_STACK = 64 << 10, SLEEPERS_BOUND = 8 };
static pthread_barrier_t fallen_asleep, over;

static size_t little_size(uint64_t *state) {
    static const uint32_t most[] = {32, 64, 128, 256, 512, 1024, 2048};
    return 1 + (size_t)random_below(state, most[random_below(state, sizeof most / sizeof *most)]);
}

static void *sleeper(void *number) {
    uint64_t state = (uintptr_t)number;
    char *kept[KEPT] = {0};
    for (unsigned i = 0; i < REPLACED; i++) {
        char **one = &kept[random_below(&state, KEPT)];
        size_t size = little_size(&state);
        free(*one);
        *one = malloc(size);
        CHECK(*one != NULL);
        memset(*one, 1, size);
    }
    pthread_barrier_wait(&fallen_asleep);
    pthread_barrier_wait(&over);
    for (unsigned i = 0; i < KEPT; i++) free(kept[i]);
    return NULL;
}

enum { MANY = 2000, MOST_OF_THREAD = 260, MANY_BOUND = 72 };
static unsigned per_thread;

static void *sleeper_among_many(void *number) {
    uint64_t state = (uintptr_t)number;
    char *kept[MOST_OF_THREAD];
    for (unsigned i = 0; i < per_thread; i++) {
        size_t size = 16 + random_below(&state, 1985);
        CHECK((kept[i] = malloc(size)) != NULL);
        memset(kept[i], 1, size);
    }
    pthread_barrier_wait(&fallen_asleep);
    pthread_barrier_wait(&over);
    for (unsigned i = 0; i < per_thread; i++) free(kept[i]);
    return NULL;
}

/* Resident memory that so many threads with that body have together, stacks included. */
static size_t all_have(unsigned threads, void *(*body)(void *)) {
    static pthread_t sleepers[MANY];
    pthread_attr_t little;
    CHECK(pthread_attr_init(&little) == 0 && pthread_attr_setstacksize(&little, LITTLE_STACK) == 0);
    CHECK(pthread_barrier_init(&fallen_asleep, NULL, threads + 1) == 0);
    CHECK(pthread_barrier_init(&over, NULL, threads + 1) == 0);
    size_t before = resident_bytes();
    for (uintptr_t i = 0; i < threads; i++) CHECK(pthread_create(&sleepers[i], &little, body, (void *)i) == 0);
    pthread_barrier_wait(&fallen_asleep);
    size_t more = resident_bytes() - before;
    pthread_barrier_wait(&over);
    for (unsigned i = 0; i < threads; i++) CHECK(pthread_join(sleepers[i], NULL) == 0);
    return more;
}

static void many(const char *objects_each) {
    per_thread = (unsigned)atoi(objects_each);
    CHECK(per_thread <= MOST_OF_THREAD);
    size_t each = all_have(MANY, sleeper_among_many) / MANY;
    printf("threads: %d with %u objects each have %zu.%zu KB each\n", MANY, per_thread, each / 1024, each % 1024 / 103);
    if (under_jwmalloc() && per_thread == 30) CHECK(each <= MANY_BOUND * 1024);
}

static void asleep(void) {
    size_t more = all_have(SLEEPERS, sleeper);
    printf("asleep: %d threads with %d objects each have %zu KB\n", SLEEPERS, KEPT, more / 1024);
    if (under_jwmalloc()) CHECK(more <= SLEEPERS_BOUND * MB);
}

int main(int arguments, char **argument) {
    CHECK(arguments >= 2);
    if (resident_bytes() == 0) check_skip("resident memory is not to be seen here");
    if (strcmp(argument[1], "asleep") == 0) asleep();
    if (strcmp(argument[1], "threads") == 0 && arguments == 3) many(argument[2]);
    if (strcmp(argument[1], "waves") == 0 && arguments == 3) waves(argument);
    return 0;
}
