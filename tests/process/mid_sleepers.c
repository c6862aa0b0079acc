/* mid_sleepers.c - memory of sleeping threads that have done a little work with objects of the midend: what is
 * free in the slabs that they hold leaves the process, and is theirs again when they wake up. No clock is read: ctest's
 * timeout is the limit.
 *
 *   mid_sleepers rounds   rounds come
 *   mid_sleepers trim     no round comes (the test says so by reclaim_interval): malloc_trim gives all back at once,
 *                         and says so. Then there is nothing left for a second one
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "entry_points.h"

enum { THREADS = 200, TIMES = 10, TOGETHER = 8, LEAST = 2100, MOST = 14000, KEPT = 100, BOUND = 40, STACK = 64 << 10 };

static pthread_barrier_t barrier; /* the sleepers and main */

static void work(uint64_t *seed) {
    for (unsigned time = 0; time < TIMES; time++) {
        char *together[TOGETHER];
        size_t sizes[TOGETHER];
        for (unsigned i = 0; i < TOGETHER; i++) {
            sizes[i] = LEAST + random_below(seed, MOST - LEAST);
            CHECK((together[i] = malloc(sizes[i])));
            pattern_fill(together[i], sizes[i], i);
        }
        for (unsigned i = 0; i < TOGETHER; i++) {
            CHECK(pattern_holds(together[i], sizes[i], i));
            free(together[i]);
        }
    }
}

/* One of KEPT threads keeps an object: its slab stays. */
static void *sleeper(void *argument) {
    uint64_t seed = (uintptr_t)argument;
    for (unsigned time = 0; time < 2; time++) {
        char *kept = NULL;
        size_t size = LEAST + random_below(&seed, MOST - LEAST);
        if ((uintptr_t)argument % KEPT == 0) CHECK((kept = malloc(size)));
        if (kept) pattern_fill(kept, size, 1);
        work(&seed);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier); /* asleep */
        CHECK(!kept || pattern_holds(kept, size, 1));
        free(kept);
    }
    return NULL;
}

static void trim(size_t bound) {
    CHECK(resident_bytes() > bound);
    CHECK(malloc_trim(0) == 1);
    CHECK(resident_bytes() <= bound);
    malloc_trim(0); /* the buffers by which that was found out */
    CHECK(malloc_trim(0) == 0);
}

int main(int arguments, char **argument) {
    CHECK(arguments == 2);
    if (!under_jwmalloc()) check_skip("the C library's malloc promises none of this");
    setbuf(stdout, NULL);
    pthread_attr_t little;
    CHECK(pthread_attr_init(&little) == 0 && pthread_attr_setstacksize(&little, STACK) == 0);
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    size_t bound = resident_bytes() + ((size_t)THREADS * BOUND << 10);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], &little, sleeper, (void *)i) == 0);
    for (unsigned time = 0; time < 2; time++) {
        pthread_barrier_wait(&barrier);
        printf("asleep: %zu KB, at most %zu KB may stay\n", resident_bytes() >> 10, bound >> 10);
        if (strcmp(argument[1], "trim") == 0) trim(bound);
        else AWAIT(resident_bytes() <= bound);
        printf("at rest: %zu KB\n", resident_bytes() >> 10);
        pthread_barrier_wait(&barrier);
    }
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
