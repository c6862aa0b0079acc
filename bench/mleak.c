/* mleak.c - threads are created and end all the time, with objects left behind that later threads free.
 *
 *   mleak threads=N octaves=N work=N live=N       N is how many run at a time
 *
 * In each of N places a thread follows the one before. It frees what its predecessor left, allocates its own, frees
 * half of them, and leaves the rest.
 */
#include "bench.h"

enum { MOST_SLOTS = 256, REPLACED = 2 };

struct worker {
    OWN_LINES pthread_t thread;
    struct random random;
    uint64_t done;
    char **objects;
};

static struct options options;
static uint32_t slots;

static void *live(void *argument) {
    struct worker *worker = argument;
    for (uint32_t i = 0; i < slots; i++) {
        if (worker->objects[i] != NULL) {
            object_end(worker->objects[i]);
            worker->done++;
        }
        worker->objects[i] = object_make(random_size(&worker->random, options.octaves));
        worker->done++;
    }
    for (uint32_t i = 0; i < slots; i += REPLACED) {
        object_end(worker->objects[i]);
        worker->objects[i] = NULL;
        worker->done++;
    }
    return NULL;
}

int main(int count, char **arguments) {
    options = options_read(count, arguments);
    slots = slots_per_thread(&options, MOST_SLOTS);
    uint64_t generations = options.work / (2 * slots) / options.threads + 2;
    struct worker *workers = map_table(sizeof *workers * options.threads);
    char **objects = map_table(sizeof *objects * options.threads * slots);
    for (uint32_t i = 0; i < options.threads; i++)
        workers[i] = (struct worker){0, random_from(i), 0, objects + (size_t)i * slots};
    struct measure start = measure_now();
    for (uint64_t generation = 0; generation < generations; generation++) {
        for (uint32_t i = 0; i < options.threads; i++) {
            if (generation > 0) CHECK(pthread_join(workers[i].thread, NULL) == 0);
            thread_start(&workers[i].thread, live, &workers[i]);
        }
    }
    uint64_t operations = 0;
    for (uint32_t i = 0; i < options.threads; i++) {
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
        operations += workers[i].done;
        for (uint32_t slot = 0; slot < slots; slot++)
            if (workers[i].objects[slot] != NULL) object_end(workers[i].objects[slot]);
    }
    measure_print(start, measure_now(), operations);
    return 0;
}
