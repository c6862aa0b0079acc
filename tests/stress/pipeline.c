/* pipeline.c - one thread only allocates, another only frees: memory must flow back to the first, not pile up.
 *
 *   pipeline [OBJECTS per pair [PAIRS]]
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"
#include "entry_points.h"

enum { RING = 1024, MAX_PAIRS = 8 };

static struct pair {
    pthread_t producer, consumer;
    uint64_t seed;
    _Atomic(uint64_t *) ring[RING];
} pairs[MAX_PAIRS];

static size_t objects = 300000;

/* An object begins with its size in words. */
static void *produce(void *argument) {
    struct pair *pair = argument;
    uint64_t state = pair->seed;
    for (size_t i = 0; i < objects; i++) {
        size_t words = random_below(&state, (size_t)4 << random_below(&state, i % 64 == 0 ? 16 : 8)) + 1;
        uint64_t *object = malloc(words * 8);
        CHECK(object != NULL);
        object[0] = words;
        pattern_fill(object + 1, (words - 1) * 8, i);
        while (atomic_load_explicit(&pair->ring[i % RING], memory_order_acquire) != NULL) sched_yield();
        atomic_store_explicit(&pair->ring[i % RING], object, memory_order_release);
    }
    return NULL;
}

static void *consume(void *argument) {
    struct pair *pair = argument;
    for (size_t i = 0; i < objects; i++) {
        uint64_t *object;
        while ((object = atomic_load_explicit(&pair->ring[i % RING], memory_order_acquire)) == NULL) sched_yield();
        atomic_store_explicit(&pair->ring[i % RING], NULL, memory_order_release);
        CHECK(pattern_holds(object + 1, (object[0] - 1) * 8, i));
        free(object);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count > 1) objects = (size_t)atol(arguments[1]);
    size_t number = count > 2 ? (size_t)atol(arguments[2]) : 2;
    CHECK(number >= 1 && number <= MAX_PAIRS);
    for (size_t i = 0; i < number; i++) {
        pairs[i].seed = i + 1;
        CHECK(pthread_create(&pairs[i].consumer, NULL, consume, &pairs[i]) == 0);
        CHECK(pthread_create(&pairs[i].producer, NULL, produce, &pairs[i]) == 0);
    }
    for (size_t i = 0; i < number; i++) {
        CHECK(pthread_join(pairs[i].producer, NULL) == 0);
        CHECK(pthread_join(pairs[i].consumer, NULL) == 0);
    }
    /* A pair has at most a ring of objects alive: some 2 MB on average. */
    printf("%zu bytes resident\n", resident_bytes());
    CHECK(resident_bytes() <= (number * 24) << 20);
    return 0;
}
