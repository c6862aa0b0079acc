/* rptest.c - every thread allocates and frees its own objects, in random order over a working set of random size.
 *
 *   rptest threads=N octaves=N work=N live=N
 */
#include "bench.h"

enum { MOST_SLOTS = 4096, VISIT = 256 };

struct worker {
    OWN_LINES pthread_t thread;
    uint64_t work, done;
    uint32_t number, slots;
    char **objects;
};

static struct options options;
static pthread_barrier_t begin;

/* Replaces a random number of objects at random places of a random part of the table; then begins again elsewhere. */
static void work(struct worker *worker) {
    struct random random = random_from(worker->number);
    char **objects = worker->objects;
    while (worker->done < worker->work) {
        uint32_t part = 1 + random_below(&random, worker->slots);
        for (uint32_t left = 1 + random_below(&random, VISIT); left > 0 && worker->done < worker->work; left--) {
            char **object = &objects[random_below(&random, part)];
            if (*object != NULL) {
                object_end(*object);
                worker->done++;
            }
            *object = object_make(random_size(&random, options.octaves));
            worker->done++;
        }
    }
    for (uint32_t i = 0; i < worker->slots; i++) {
        if (objects[i] == NULL) continue;
        object_end(objects[i]);
        worker->done++;
    }
}

static void *run(void *argument) {
    pthread_barrier_wait(&begin);
    work(argument);
    return NULL;
}

int main(int count, char **arguments) {
    options = options_read(count, arguments);
    uint32_t slots = slots_per_thread(&options, MOST_SLOTS);
    struct worker *workers = map_table(sizeof *workers * options.threads);
    char **objects = map_table(sizeof *objects * options.threads * slots);
    CHECK(pthread_barrier_init(&begin, NULL, options.threads + 1) == 0);
    for (uint32_t i = 0; i < options.threads; i++) {
        workers[i] = (struct worker){0, options.work / options.threads + 1, 0, i, slots, objects + (size_t)i * slots};
        thread_start(&workers[i].thread, run, &workers[i]);
    }
    struct measure start = measure_now();
    pthread_barrier_wait(&begin);
    uint64_t operations = 0;
    for (uint32_t i = 0; i < options.threads; i++) {
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
        operations += workers[i].done;
    }
    measure_print(start, measure_now(), operations);
    return 0;
}
