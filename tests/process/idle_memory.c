/* idle_memory.c - memory that an idle process gives back by itself, and what a small one keeps.
 *
 *   idle_memory wait    much is freed, then no call comes: waits until it has left the process (ctest's timeout
 *                       is the limit, no clock is read)
 *   idle_memory now MB  the same in a process that has no reclamation thread: after the frees at most so much is there
 *   idle_memory slabs   of objects of 8 KB each fourth stays: waits until most of the others' memory has left the
 *                       process, although no slab is empty
 *   idle_memory asleep  bursts of objects of 8 B to 64 KB, of which one of twelve stays: waits until little more than
 *                       those is resident; what is known of the others must not stay either
 *   idle_memory small   one thread allocates 1 MB in all: at most 200 KB are resident beyond it
 */
#include "tiers.h"

#define MB ((size_t)1 << 20)

enum { OBJECTS = 60000 };

static size_t fill_and_free(void) {
    static void *objects[OBJECTS];
    uint64_t seed = 1;
    size_t before = resident_bytes();
    for (size_t i = 0; i < OBJECTS; i++) {
        size_t size = random_below(&seed, (size_t)16 << i % 11) + 1;
        objects[i] = malloc(size);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, size);
    }
    CHECK(resident_bytes() > before + 60 * MB);
    for (size_t i = 0; i < OBJECTS; i++) free(objects[i]);
    return before;
}

static void small_process(void) {
    enum { SIZE = 64, COUNT = (1 << 20) / SIZE };
    static char *objects[COUNT];
    memset(objects, 1, sizeof objects);
    size_t before = resident_bytes();
    for (size_t i = 0; i < COUNT; i++) {
        objects[i] = malloc(SIZE);
        CHECK(objects[i] != NULL);
        memset(objects[i], 1, SIZE);
    }
    size_t beyond = resident_bytes() - before - MB;
    printf("%zu bytes resident beyond the objects\n", beyond);
    CHECK(beyond <= 200 * 1024);
}

static void survivors(void) {
    enum { SIZE = 8192, COUNT = 4096 };
    static char *objects[COUNT];
    memset(objects, 1, sizeof objects);
    size_t before = resident_bytes(), live = (size_t)SIZE * COUNT / 4;
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            if (round > 0 && i % 4 == 0) continue;
            objects[i] = malloc(SIZE);
            CHECK(objects[i] != NULL);
            pattern_fill(objects[i], SIZE, i);
        }
        CHECK(resident_bytes() > before + 3 * live);
        for (size_t i = 0; i < COUNT; i++)
            if (i % 4 != 0) free(objects[i]);
        AWAIT(resident_bytes() <= before + live + live / 4);
        for (size_t i = 0; i < COUNT; i += 4) CHECK(pattern_holds(objects[i], SIZE, i));
    }
}

static void asleep(void) {
    enum { COUNT = 16000, SHARE = 12, BURSTS = 2 };
    static char *objects[COUNT];
    static size_t sizes[COUNT];
    uint64_t seed = 1;
    memset(objects, 1, sizeof objects);
    memset(sizes, 1, sizeof sizes);
    size_t before = resident_bytes();
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        size_t live = 0;
        for (size_t i = 0; i < COUNT; i++) {
            if (burst > 0 && objects[i]) continue;
            sizes[i] = random_below(&seed, (size_t)16 << i % 13) + 1;
            objects[i] = malloc(sizes[i]);
            CHECK(objects[i] != NULL);
            pattern_fill(objects[i], sizes[i], i);
        }
        for (size_t i = 0; i < COUNT; i++) {
            if (random_below(&seed, SHARE) == 0) {
                live += sizes[i];
                continue;
            }
            free(objects[i]);
            objects[i] = NULL;
        }
        AWAIT(resident_bytes() <= before + live + live / 10 + 5 * MB / 2);
        for (size_t i = 0; i < COUNT; i++) CHECK(!objects[i] || pattern_holds(objects[i], sizes[i], i));
    }
}

int main(int count, char **arguments) {
    CHECK(count >= 2);
    if (!under_jwmalloc()) check_skip("the C library's malloc promises none of this");
    setbuf(stdout, NULL);
    /* Streams and everything else that is needed once. */
    resident_bytes();
    if (strcmp(arguments[1], "small") == 0) {
        small_process();
        return 0;
    }
    if (strcmp(arguments[1], "slabs") == 0) {
        survivors();
        return 0;
    }
    if (strcmp(arguments[1], "asleep") == 0) {
        asleep();
        return 0;
    }
    bool wait = strcmp(arguments[1], "wait") == 0;
    size_t before = fill_and_free();
    printf("%zu bytes before, %zu after the frees\n", before, resident_bytes());
    if (wait) AWAIT(resident_bytes() <= before + 4 * MB);
    /* Without the thread, cache_min (8 MB) and the pools of empty slabs may stay: slabs are not smaller than pages. */
    size_t pools = 32 * ((size_t)sysconf(_SC_PAGESIZE) - 4096);
    if (!wait) CHECK(resident_bytes() <= before + pools + (size_t)atoi(arguments[2]) * MB);
    return 0;
}
