/* records_lag.c [pieces|large|crowd|whole MB] - objects where the page map's records lag behind its other tables: their
 * addresses lead to records of other granules, which are slabs of this thread or of another one. Each call must see
 * that, and each object keep its contents. Then small objects come, in roots all over the window, and with them the
 * records. With RLIMIT_AS of so many MB, set late:
 *
 *   pieces   there is no room for records, and what is free lies in pieces in all roots: it serves small objects;
 *            below 600 MB in a fork's child as well
 *   large    the mirror image: pieces between small objects serve large ones
 *   crowd    threads make roots and ask for records at the same time, all at the limit
 *   whole    a thread fills all with mid and then with small objects, and frees them: after some rounds, large objects
 *            find whole roots, though many had given up parts for the records
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { SIZE = 4096, OBJECTS = 60000, SMALL = 1000, FIRST = 4000, LATER = 60000, EIGHTHS = 8 };

static char *objects[OBJECTS], *small[FIRST + LATER];

static char *filled(size_t size, size_t number) {
    char *object = malloc(size);
    CHECK(object != NULL);
    object[0] = object[size - 1] = (char)number;
    return object;
}

static void check_free(char *object, size_t size, size_t number) {
    CHECK(object[0] == (char)number && object[size - 1] == (char)number && malloc_usable_size(object) >= size);
    free(object);
}

static void *fill_small(void *first) {
    for (size_t i = *(size_t *)first, end = i + FIRST / 2; i < end; i++) small[i] = filled(SMALL, i);
    return NULL;
}

/* Each eighth object from `first` on. */
static void *free_mid(void *first) {
    for (size_t i = *(size_t *)first; i < OBJECTS; i += EIGHTHS) check_free(objects[i], SIZE, i);
    return NULL;
}

static void in_thread(void *work(void *), size_t first) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, &first) == 0 && pthread_join(thread, NULL) == 0);
}

/* --- At a limit ------------------------------------------------------------------------------------------------- */

enum { MANY = 1200 << 8, TINY = 1000, TINIES = 1 << 20, LARGE = 20000, THREADS = 4, KEPT = 16 };

static char *all[MANY], *tiny[TINIES];

static size_t fill(char **to, size_t most, size_t size) {
    size_t count = 0;
    while (count < most && (to[count] = malloc(size)) != NULL) to[count++][0] = (char)size;
    return count;
}

/* Frees the objects but each `every`th, or the latter. */
static void thin(char **from, size_t count, size_t every, bool others) {
    for (size_t i = 0; i < count; i++)
        if ((i % every != 0) == others) free(from[i]);
}

static void expect_half(size_t had, size_t of) {
    if (had < of / 2) dprintf(2, "%zu of %zu MB\n", had >> 20, of >> 20);
    CHECK(had >= of / 2);
}

/* Fills what is free with objects of another size, frees all, and fills once more: nothing is lost. */
static void serves(size_t count, size_t size, size_t other) {
    size_t had = fill(tiny, TINIES, other);
    expect_half(had * other, count * size);
    thin(tiny, had, 1, false);
    thin(all, count, KEPT, false);
    malloc_trim(0);
    char *large = malloc(count * size / 2);
    CHECK(large != NULL);
    free(large);
    expect_half(fill(all, MANY, SIZE) * SIZE, count * size);
}

static void pieces(size_t size, size_t other) {
    size_t count = fill(all, size < SIZE ? 0 : MANY, size);
    if (size < SIZE) { /* runs of slabs */
        size_t smalls = fill(tiny, TINIES, size);
        for (size_t i = 0; i < smalls; i++) {
            if (i / 200 % KEPT == 0) CHECK(tiny[i][0] == (char)size);
            else free(tiny[i]);
        }
        expect_half(fill(all, MANY, other) * other, smalls * size);
        return;
    }
    thin(all, count, KEPT, true);
    pid_t child = count < MANY / 2 ? fork() : 1;
    CHECK(child >= 0);
    serves(count, size, other);
    if (child == 0) _exit(0);
    int status;
    CHECK(child == 1 || (waitpid(child, &status, 0) == child && status == 0));
}

static void *crowd(void *number) {
    enum { ROUNDS = 2, MOST = 200 << 8, SMALLS = TINIES / THREADS };
    char **mine = all + *(size_t *)number * MOST, **little = tiny + *(size_t *)number * SMALLS;
    for (int i = 0; i < ROUNDS; i++) {
        size_t count = fill(mine, MOST, SIZE);
        thin(mine, count, KEPT, true);
        size_t smalls = fill(little, SMALLS, TINY);
        for (size_t j = 0; j < count; j += KEPT) CHECK(mine[j][0] == (char)SIZE);
        for (size_t j = 0; j < smalls; j++) CHECK(little[j][0] == (char)TINY);
        thin(little, smalls, 1, false);
        thin(mine, count, KEPT, false);
    }
    return NULL;
}

enum { WHOLE = 1000000, ROUNDS_LAST = 5 };

static void *whole(void *megabytes) {
    uint64_t seed = 1;
    static const size_t sizes[] = {8000, 64};
    for (unsigned i = 0; i < 2; i++) {
        char *last = NULL, *object;
        for (; (object = malloc(sizes[i] / 2 + random_below(&seed, sizes[i]))) != NULL; last = object)
            *(char **)object = last;
        for (; (object = last) != NULL; free(object)) last = *(char **)object;
    }
    sleep(ROUNDS_LAST);
    size_t had = fill(all, MANY, WHOLE);
    thin(all, had, 1, false);
    expect_half(had * WHOLE, *(size_t *)megabytes << 20);
    return NULL;
}

static void at_limit(const char *mode, size_t megabytes) {
    struct rlimit limit = {megabytes << 20, RLIM_INFINITY};
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    if (strcmp(mode, "pieces") == 0) return pieces(SIZE, TINY);
    if (strcmp(mode, "large") == 0) return pieces(TINY, LARGE);
    if (strcmp(mode, "whole") == 0) {
        in_thread(whole, megabytes);
        return;
    }
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, crowd, &numbers[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    malloc_trim(0);
    expect_half(fill(all, MANY, SIZE) * SIZE, limit.rlim_cur - (MANY * 8 + TINIES * 8));
}

int main(int arguments, char **argument) {
    if (arguments > 2) {
        at_limit(argument[1], strtoul(argument[2], NULL, 10));
        return 0;
    }
    size_t mine = 0, moved = 2, small_end = FIRST;
    fill_small(&mine);
    in_thread(fill_small, FIRST / 2); /* slabs of another heap are in the first root, too */
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = filled(SIZE, i);
    free_mid(&mine);
    in_thread(free_mid, 1);
    for (size_t i = moved; i < OBJECTS; i += EIGHTHS) { /* in place, then by a copy */
        CHECK((objects[i] = realloc(objects[i], SIZE - 100)) != NULL && objects[i][0] == (char)i);
        CHECK((objects[i] = realloc(objects[i], 2 * SIZE)) != NULL && objects[i][0] == (char)i);
        objects[i][SIZE - 1] = (char)i;
    }
    for (; small_end < FIRST + LATER; small_end++) small[small_end] = filled(SMALL, small_end);
    free_mid(&moved);
    for (size_t i = 3; i < EIGHTHS; i++) {
        if (i % 2 == 0) free_mid(&i);
        else in_thread(free_mid, i);
    }
    for (size_t i = 0; i < small_end; i++) check_free(small[i], SMALL, i);
    malloc_trim(0);
    CHECK(resident_bytes() < (size_t)32 << 20);
    return 0;
}
