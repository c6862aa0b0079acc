/* many_rings.c - thousands of threads with a quarantine each leave the program most of the kernel's 65,530 mappings.
 */
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

/* A stack takes two mappings, and a heap one at most. Only the rings of the first heaps have fences: three of each. */
enum { THREADS = 3000, STACK = 64 * 1024, FENCED = 1024, MOST = 3 * THREADS + 3 * FENCED };

static sem_t ready, over;

static void *thread(void *unused) {
    free(malloc(100));
    sem_post(&ready);
    while (sem_wait(&over) != 0) {
    }
    return unused;
}

static size_t mappings(void) {
    size_t lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    for (int byte; (byte = getc(maps)) != EOF;) lines += byte == '\n';
    CHECK(fclose(maps) == 0);
    return lines;
}

int main(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    CHECK(sem_init(&ready, 0, 0) == 0 && sem_init(&over, 0, 0) == 0);
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, STACK) == 0);
    size_t before = mappings();
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], &small, thread, NULL) == 0);
    for (size_t i = 0; i < THREADS; i++)
        while (sem_wait(&ready) != 0) {
        }
    size_t more = mappings() - before;
    printf("%zu mappings more with %d threads\n", more, THREADS);
    CHECK(more <= MOST);
    for (size_t i = 0; i < THREADS; i++) sem_post(&over);
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
