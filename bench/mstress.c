/* mstress.c - rounds of threads that build up objects of mixed lifetimes, exchange some, and free most of them.
 *
 *   mstress threads=N octaves=N work=N live=N rounds=N sleep=MS
 *
 * Each round starts its threads anew. A sixteenth of a thread's objects survives the round, and so do those in the
 * exchange; a thread of the next round frees them. With sleep the program then does nothing for a while, as an app
 * that was put aside; "idle" lines say when, by the monotonic clock, and how many bytes it holds.
 */
#include "bench.h"

enum { MOST_SLOTS = 1 << 16, EXCHANGE = 512, SURVIVORS = 16 };

struct worker {
    OWN_LINES pthread_t thread;
    struct random random;
    uint64_t done;
    char **objects;
};

static struct options options;
static uint32_t slots;
static uint64_t work_per_round;
/* The thread that takes an object out owns it. */
static _Atomic(char *) exchange[EXCHANGE];

static void replace(struct worker *worker, char **object) {
    if (*object != NULL) {
        object_end(*object);
        worker->done++;
    }
    *object = object_make(random_size(&worker->random, options.octaves));
    worker->done++;
}

/* Our object for the one at a random place, which is another thread's as a rule. */
static void swap(struct worker *worker, char **object) {
    _Atomic(char *) *place = &exchange[random_below(&worker->random, EXCHANGE)];
    *object = atomic_exchange_explicit(place, *object, memory_order_acq_rel);
}

static void *play(void *argument) {
    struct worker *worker = argument;
    uint64_t end = worker->done + work_per_round;
    for (uint64_t step = 0; worker->done < end; step++) {
        char **object = &worker->objects[random_below(&worker->random, slots)];
        if (*object != NULL && step % 8 == 0) swap(worker, object);
        else replace(worker, object);
    }
    for (uint32_t i = 0; i < slots; i++) {
        if (worker->objects[i] == NULL || random_below(&worker->random, SURVIVORS) == 0) continue;
        object_end(worker->objects[i]);
        worker->objects[i] = NULL;
        worker->done++;
    }
#ifdef BENCH_LATENCY
    latency_leave();
#endif
    return NULL;
}

static uint64_t bytes_of(char *object) {
    return object != NULL ? object_check(object) : 0;
}

static void idle(const struct worker *workers) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < EXCHANGE; i++) bytes += bytes_of(atomic_load(&exchange[i]));
    for (uint32_t i = 0; i < options.threads; i++)
        for (uint32_t slot = 0; slot < slots; slot++) bytes += bytes_of(workers[i].objects[slot]);
    double start = seconds_now();
    usleep(options.sleep_ms * 1000);
    dprintf(STDOUT_FILENO, "{\"idle\": %.6f, \"until\": %.6f, \"live\": %llu}\n", start, seconds_now(),
            (unsigned long long)bytes);
}

/* A round's survivors are the next round's, in another thread's table. */
static void rotate(struct worker *workers) {
    char **first = workers[0].objects;
    for (uint32_t i = 0; i + 1 < options.threads; i++) workers[i].objects = workers[i + 1].objects;
    workers[options.threads - 1].objects = first;
}

static uint64_t end_all(struct worker *workers) {
    uint64_t operations = 0;
    for (uint32_t i = 0; i < EXCHANGE; i++) {
        char *object = atomic_load(&exchange[i]);
        if (object == NULL) continue;
        object_end(object);
        operations++;
    }
    for (uint32_t i = 0; i < options.threads; i++) {
        operations += workers[i].done;
        for (uint32_t slot = 0; slot < slots; slot++) {
            if (workers[i].objects[slot] == NULL) continue;
            object_end(workers[i].objects[slot]);
            operations++;
        }
    }
    return operations;
}

int main(int count, char **arguments) {
    options = options_read(count, arguments);
    CHECK(options.rounds > 0);
    slots = slots_per_thread(&options, MOST_SLOTS);
    work_per_round = options.work / options.threads / options.rounds + 1;
    struct worker *workers = map_table(sizeof *workers * options.threads);
    char **objects = map_table(sizeof *objects * options.threads * slots);
#ifdef BENCH_LATENCY
    latency_start(options.threads);
#endif
    for (uint32_t i = 0; i < options.threads; i++)
        workers[i] = (struct worker){0, random_from(i), 0, objects + (size_t)i * slots};
    struct measure start = measure_now();
    for (uint32_t round = 0; round < options.rounds; round++) {
        for (uint32_t i = 0; i < options.threads; i++) thread_start(&workers[i].thread, play, &workers[i]);
        for (uint32_t i = 0; i < options.threads; i++) CHECK(pthread_join(workers[i].thread, NULL) == 0);
        rotate(workers);
        if (options.sleep_ms > 0) idle(workers);
    }
    uint64_t operations = end_all(workers);
    measure_print(start, measure_now(), operations);
#ifdef BENCH_LATENCY
    latency_print();
#endif
    return 0;
}
