/* scale.c - random replacement among live objects: how the cost of an operation grows with them and with threads.
 *
 *   scale threads=N octaves=N work=N live=N       live: bytes over all threads, the work: after they are there
 */
#include "bench.h"

struct worker {
    pthread_t thread;
    uint64_t work;
    uint32_t number, slots;
    char **objects;
};

static struct options options;
static pthread_barrier_t filled, begin;

static void *run(void *argument) {
    struct worker *worker = argument;
    struct random random = random_from(worker->number);
    for (uint32_t i = 0; i < worker->slots; i++)
        worker->objects[i] = object_make(random_size(&random, options.octaves));
    pthread_barrier_wait(&filled);
    pthread_barrier_wait(&begin);
    for (uint64_t left = worker->work; left > 0; left--) {
        char **object = &worker->objects[random_below(&random, worker->slots)];
        object_end(*object);
        *object = object_make(random_size(&random, options.octaves));
    }
    return NULL;
}

int main(int count, char **arguments) {
    options = options_read(count, arguments);
    uint32_t slots = slots_per_thread(&options, UINT32_MAX);
    uint64_t work = options.work / 2 / options.threads + 1;
    struct worker *workers = map_table(sizeof *workers * options.threads);
    char **objects = map_table(sizeof *objects * options.threads * slots);
    CHECK(pthread_barrier_init(&filled, NULL, options.threads + 1) == 0);
    CHECK(pthread_barrier_init(&begin, NULL, options.threads + 1) == 0);
    for (uint32_t i = 0; i < options.threads; i++) {
        workers[i] = (struct worker){0, work, i, slots, objects + (size_t)i * slots};
        thread_start(&workers[i].thread, run, &workers[i]);
    }
    pthread_barrier_wait(&filled);
    struct measure start = measure_now();
    pthread_barrier_wait(&begin);
    for (uint32_t i = 0; i < options.threads; i++) CHECK(pthread_join(workers[i].thread, NULL) == 0);
    measure_print(start, measure_now(), 2 * work * options.threads);
    return 0;
}
