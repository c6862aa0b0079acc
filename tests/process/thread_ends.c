/* thread_ends.c - threads that end with live objects, which others check and free later; and frees from threads whose
 * own heap has never been. */
#include <pthread.h>
#include <stdatomic.h>

#include "tiers.h"

enum { GENERATIONS = 200, SMALL = 300 };

struct estate {
    struct tiers tiers;
    char *small[SMALL];
};

static void *leave_objects(void *argument) {
    struct estate *estate = argument;
    tiers_allocate(&estate->tiers, 5);
    for (size_t i = 0; i < SMALL; i++) {
        estate->small[i] = malloc(i * 3 + 1);
        CHECK(estate->small[i] != NULL);
        pattern_fill(estate->small[i], i * 3 + 1, i);
    }
    /* Half are freed by their owner, so that its slabs are left partial. */
    for (size_t i = 0; i < SMALL; i += 2) free(estate->small[i]);
    return NULL;
}

/* A thread that never allocates still frees, into slabs of the living and of the dead. */
static void *free_objects(void *argument) {
    struct estate *estate = argument;
    for (size_t i = 1; i < SMALL; i += 2) {
        CHECK(pattern_holds(estate->small[i], i * 3 + 1, i));
        free(estate->small[i]);
    }
    tiers_free(&estate->tiers, 5);
    return NULL;
}

static void run(void *(*body)(void *), void *argument) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, argument) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
    enum { DELAY = 8 };
    static struct estate estates[DELAY];
    for (size_t i = 0; i < GENERATIONS; i++) {
        struct estate *estate = &estates[i % DELAY];
        /* The estate of eight generations ago, freed by the main thread or by a fresh one. */
        if (i >= DELAY) i % 2 == 0 ? (void)free_objects(estate) : run(free_objects, estate);
        run(leave_objects, estate);
    }
    for (size_t i = 0; i < DELAY; i++) free_objects(&estates[i]);
    if (!under_jwmalloc()) return 0;
    /* Nothing is left of 200 dead threads. */
    malloc_trim(0);
    CHECK(resident_bytes() < (size_t)8 << 20);
    return 0;
}
