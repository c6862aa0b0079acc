/* sleepers.c - memory of sleeping threads whose objects another thread frees: it leaves the process, whatever the
 * sleepers did before, and is theirs again when they wake up. No clock is read: ctest's timeout is the limit.
 *
 *   sleepers full      objects of 64 B: all slabs were full
 *   sleepers partial   the sleepers free every second object themselves, then sleep
 *   sleepers few       they free one of twenty
 *   sleepers last      main frees seven of eight first, the sleepers the eighth: each slab is emptied by its owner
 *   sleepers late      main frees three of four, and the sleepers the fourth when no round comes any more
 *   sleepers silent    main frees 15 of 16, and the sleepers the last one when rounds are rare: such frees ask for none
 *   sleepers mixed     sizes up to 2,000 B
 *   sleepers taken     the sleepers take slabs back while the first half is freed, and sleep during the second
 *   sleepers trim      no round comes (the test says so by reclaim_interval): malloc_trim gives all back at once, and
 *                      says so; then there is nothing left for a second one
 *   sleepers told      as full; malloc_info agrees with the kernel on what was given back
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"

#define MB ((size_t)1 << 20)

enum { THREADS = 16, MOST = 20000, KEEP = 5000, SILENCE = 100 };

static char *objects[THREADS][MOST];
static uint16_t sizes[THREADS][MOST];
static unsigned count, own_share, own_last; /* every so many: freed first; freed last; 0: none */
static size_t largest, filled;
static bool take_back;
static pthread_barrier_t barrier; /* the sleepers and main */

static void fill_all(unsigned number, uint64_t seed) {
    for (unsigned i = 0; i < count; i++) {
        if (objects[number][i]) continue;
        sizes[number][i] = (uint16_t)(largest == 64 ? 64 : random_below(&seed, largest) + 1);
        objects[number][i] = malloc(sizes[number][i]);
        CHECK(objects[number][i] != NULL);
        pattern_fill(objects[number][i], sizes[number][i], i + number);
    }
}

static void free_one(unsigned number, unsigned i) {
    char *object = objects[number][i];
    if (!object) return;
    CHECK(pattern_holds(object, sizes[number][i], i + number));
    objects[number][i] = NULL;
    free(object);
}

/* Allocates and frees so much that the thread takes back what others bring. */
static void work(void) {
    enum { TOGETHER = 100 };
    for (unsigned i = 0; i < MOST / TOGETHER; i++) {
        void *together[TOGETHER];
        for (unsigned j = 0; j < TOGETHER; j++) together[j] = malloc(64);
        for (unsigned j = 0; j < TOGETHER; j++) free(together[j]);
    }
}

static void *sleeper(void *argument) {
    unsigned number = (unsigned)(size_t)argument;
    for (unsigned time = 0; time < 2; time++) {
        fill_all(number, number + time);
        if (own_share > 0)
            for (unsigned i = 0; i < count; i += own_share) free_one(number, i);
        pthread_barrier_wait(&barrier);
        if (take_back || own_last) {
            if (take_back) work();
            pthread_barrier_wait(&barrier);
        }
        if (own_last)
            for (unsigned i = 0; i < count; i += own_last) free_one(number, i);
        pthread_barrier_wait(&barrier); /* asleep */
    }
    return NULL;
}

static void free_share(unsigned from, unsigned to) {
    for (unsigned number = 0; number < THREADS; number++)
        for (unsigned i = from; i < to; i++)
            if (i % KEEP != 1 && (!own_last || i % own_last)) free_one(number, i);
}

/* Of what was filled a twentieth may stay, and the few slabs that each sleeper is at work on: granules, which are of
 * 64 KB in the only build that runs this test on such pages. */
static size_t most_resident(size_t before) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return before + filled / 20 + (page < 65536 ? MB : THREADS * 8 * page);
}

static void expect_back(size_t before) {
    AWAIT(resident_bytes() <= most_resident(before));
    for (unsigned number = 0; number < THREADS; number++)
        for (unsigned i = 1; i < count; i += KEEP)
            CHECK(pattern_holds(objects[number][i], sizes[number][i], i + number));
}

static void trim(size_t before) {
    CHECK(resident_bytes() > before + filled / 2);
    CHECK(malloc_trim(0) == 1);
    printf("%zu before, %zu after malloc_trim\n", before, resident_bytes());
    CHECK(resident_bytes() <= most_resident(before));
    malloc_trim(0); /* the buffers by which that was found out */
    CHECK(malloc_trim(0) == 0);
}

/* The first value of that name in the backend's part. */
static size_t told(const char *text, const char *name) {
    const char *at = strstr(text, "<backend>");
    CHECK(at != NULL && (at = strstr(at, name)) != NULL);
    return strtoull(at + strlen(name), NULL, 10);
}

static size_t rounds(void) {
    static char text[65536];
    FILE *stream = fmemopen(text, sizeof text, "w");
    CHECK(stream && malloc_info(0, stream) == 0);
    fclose(stream);
    return told(text, "<rounds>");
}

/* Returns when no round has come for so many looks. If rounds are only late, the test sees less. */
static void await_silence(unsigned looks) {
    size_t before = rounds();
    unsigned silent = 0;
    AWAIT(rounds() == before ? ++silent == looks : (before = rounds(), silent = 0, false));
}

/* What is in use or cached with memory behind it is what the process has grown by, but for a rest. */
static void agree(size_t before) {
    static char text[65536];
    expect_back(before);
    FILE *stream = fmemopen(text, sizeof text, "w");
    CHECK(stream && malloc_info(0, stream) == 0);
    fclose(stream);
    size_t said = told(text, "<in_use>") + told(text, "<cached_mapped>"), resident = resident_bytes() - before;
    printf("%zu bytes said to be there, grown by %zu\n", said, resident);
    CHECK(said <= resident + MB && resident <= most_resident(said));
}

int main(int arguments, char **argument) {
    CHECK(arguments == 2);
    if (!under_jwmalloc()) check_skip("the C library's malloc promises none of this");
    const char *how = argument[1];
    bool mixed = strcmp(how, "mixed") == 0;
    setbuf(stdout, NULL);
    count = mixed ? 4000 : MOST;
    largest = mixed ? 2000 : 64;
    own_share = strcmp(how, "partial") == 0 ? 2 : strcmp(how, "few") == 0 ? 20 : 0;
    take_back = strcmp(how, "taken") == 0;
    bool late = strcmp(how, "late") == 0, silent = strcmp(how, "silent") == 0;
    own_last = late ? 4 : strcmp(how, "last") == 0 ? 8 : silent ? 16 : 0;
    memset(objects, 1, sizeof objects);
    memset(objects, 0, sizeof objects);
    memset(sizes, 1, sizeof sizes);
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    size_t before = resident_bytes();
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, sleeper, (void *)i);
    for (unsigned time = 0; time < 2; time++) {
        pthread_barrier_wait(&barrier);
        if (time == 0) filled = resident_bytes() - before;
        CHECK(filled > 15 * MB);
        free_share(0, take_back ? count / 2 : count);
        if (late || silent) await_silence(late ? SILENCE : SILENCE / 2);
        if (own_last) pthread_barrier_wait(&barrier);
        if (take_back) {
            pthread_barrier_wait(&barrier);
            free_share(count / 2, count);
        }
        if (strcmp(how, "trim") == 0) trim(before);
        else if (strcmp(how, "told") == 0) agree(before);
        else expect_back(before);
        printf("%zu MB filled, %zu KB stay\n", filled / MB, (resident_bytes() - before) / 1024);
        pthread_barrier_wait(&barrier);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
