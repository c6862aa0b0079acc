/* counted.c - mallinfo tells what is alive: of every size, while it is alive and not later; also in threads that sleep.
 *
 *   counted sizes       one object after another, 8 B to 300 MB
 *   counted sleepers    of 100 threads, which have used all sizes up to 14 KB, freed nearly all, and sleep
 *   counted threads     nothing stays of 4,000 threads that came and went
 */
#include <pthread.h>
#include <semaphore.h>

#include "tiers.h"

#define MB ((size_t)1 << 20)

static void each_size(void) {
    static const size_t sizes[] = {8,     32,    100,     1000,    2048,     3000,     12000,
                                   20000, 32768, 1 << 17, 1 << 20, 10240000, 20480000, 300000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct mallinfo2 before = mallinfo2();
        char *object = malloc(sizes[i]);
        CHECK(object != NULL);
        object[0] = 1;
        struct mallinfo2 with = mallinfo2();
        size_t usable = malloc_usable_size(object);
        free(object);
        struct mallinfo2 after = mallinfo2();
        printf("%zu bytes: %zd more, then %zd less\n", sizes[i], with.uordblks - before.uordblks,
               with.uordblks - after.uordblks);
        CHECK(with.uordblks >= before.uordblks + sizes[i]);
        CHECK(with.uordblks >= after.uordblks + sizes[i] && usable >= sizes[i]);
        CHECK(with.arena + with.hblkhd == with.uordblks + with.fordblks);
    }
}

enum { THREADS = 100, ALIVE = 8, SIZES = 40 };
static sem_t ready, over;

static size_t size_of(size_t i) {
    return i < 28 ? 8 + 72 * i : 2048 + 1000 * (i - 28); /* all of the frontend's classes, and of the midend's */
}

/* Some of each size, freed again but for a few small ones. */
static void *sleeper(void *unused) {
    void *objects[SIZES][4], *alive[ALIVE];
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 4 * SIZES; i++) {
            objects[i / 4][i % 4] = malloc(size_of(i / 4));
            CHECK(objects[i / 4][i % 4] != NULL);
        }
        for (size_t i = 0; i < 4 * SIZES; i++) free(objects[i / 4][i % 4]);
    }
    for (size_t i = 0; i < ALIVE; i++) alive[i] = malloc(256);
    sem_post(&ready);
    while (sem_wait(&over) != 0) {
    }
    for (size_t i = 0; i < ALIVE; i++) free(alive[i]);
    return unused;
}

static void sleeping_threads(void) {
    pthread_t threads[THREADS];
    sem_init(&ready, 0, 0);
    sem_init(&over, 0, 0);
    size_t before = mallinfo2().uordblks, alive = (size_t)THREADS * ALIVE * 256;
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, sleeper, NULL) == 0);
    for (size_t i = 0; i < THREADS; i++)
        while (sem_wait(&ready) != 0) {
        }
    size_t told = mallinfo2().uordblks - before;
    printf("%zu bytes alive in %d sleeping threads, %zu told\n", alive, THREADS, told);
    /* libc has some bytes for each thread, too */
    CHECK(told >= alive && told < 2 * alive + (size_t)THREADS * 1024);
    for (size_t i = 0; i < THREADS; i++) sem_post(&over);
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void *brief(void *unused) {
    char *object = malloc(100);
    CHECK(object != NULL);
    object[0] = 1;
    free(object);
    return unused;
}

static size_t alive_after(size_t threads) {
    pthread_t thread;
    for (size_t i = 0; i < threads; i++)
        CHECK(pthread_create(&thread, NULL, brief, NULL) == 0 && pthread_join(thread, NULL) == 0);
    return mallinfo2().uordblks;
}

static void ended_threads(void) {
    size_t before = alive_after(50), after = alive_after(4000);
    printf("%zu bytes alive after 50 threads, %zu after 4,000 more\n", before, after);
    CHECK(after < before + 16384);
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    CHECK(count == 2);
    if (strcmp(arguments[1], "sizes") == 0) each_size();
    else if (strcmp(arguments[1], "threads") == 0) ended_threads();
    else sleeping_threads();
    puts("ok");
    return 0;
}
