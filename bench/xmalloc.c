/* xmalloc.c - half of the threads allocate, the other half frees what they allocated.
 *
 *   xmalloc threads=N octaves=N work=N live=N      threads=1: one of each
 *
 * Objects travel in batches through one bounded queue, so that a lock is taken once per batch.
 */
#include "bench.h"

enum { MOST_BATCH = 256, QUEUE = 4 };

struct batch {
    char *objects[MOST_BATCH];
    struct batch *next;
};

/* A list of batches and how to wait for one. */
struct queue {
    struct batch *first;
    pthread_cond_t filled;
};

struct worker {
    OWN_LINES pthread_t thread;
    uint64_t batches, done;
    uint32_t number;
};

static struct options options;
static uint32_t batch_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue full = {NULL, PTHREAD_COND_INITIALIZER}, empty = {NULL, PTHREAD_COND_INITIALIZER};
static uint64_t consumable; /* batches that consumers have not claimed yet */
static pthread_barrier_t begin;

static void put(struct queue *queue, struct batch *batch) {
    pthread_mutex_lock(&lock);
    batch->next = queue->first;
    queue->first = batch;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&lock);
}

static struct batch *take(struct queue *queue) {
    pthread_mutex_lock(&lock);
    while (queue->first == NULL) pthread_cond_wait(&queue->filled, &lock);
    struct batch *batch = queue->first;
    queue->first = batch->next;
    pthread_mutex_unlock(&lock);
    return batch;
}

static bool claim(void) {
    pthread_mutex_lock(&lock);
    bool claimed = consumable > 0;
    consumable -= claimed;
    pthread_mutex_unlock(&lock);
    return claimed;
}

static void *produce(void *argument) {
    struct worker *worker = argument;
    struct random random = random_from(worker->number);
    pthread_barrier_wait(&begin);
    for (uint64_t left = worker->batches; left > 0; left--) {
        struct batch *batch = take(&empty);
        for (uint32_t i = 0; i < batch_size; i++)
            batch->objects[i] = object_make(random_size(&random, options.octaves));
        worker->done += batch_size;
        put(&full, batch);
    }
    return NULL;
}

static void *consume(void *argument) {
    struct worker *worker = argument;
    pthread_barrier_wait(&begin);
    while (claim()) {
        struct batch *batch = take(&full);
        for (uint32_t i = 0; i < batch_size; i++) object_end(batch->objects[i]);
        worker->done += batch_size;
        put(&empty, batch);
    }
    return NULL;
}

int main(int count, char **arguments) {
    options = options_read(count, arguments);
    uint32_t producers = options.threads < 2 ? 1 : options.threads / 2;
    uint32_t consumers = options.threads < 2 ? 1 : options.threads - producers;
    uint64_t size = options.live / ((uint64_t)producers * QUEUE) / mean_size(options.octaves);
    batch_size = size < 4 ? 4 : size > MOST_BATCH ? MOST_BATCH : (uint32_t)size;
    uint64_t batches = options.work / 2 / batch_size / producers + 1;
    consumable = batches * producers;
    struct batch *pool = map_table(sizeof *pool * producers * QUEUE);
    for (uint32_t i = 0; i < producers * QUEUE; i++) put(&empty, &pool[i]);
    struct worker *workers = map_table(sizeof *workers * (producers + consumers));
    CHECK(pthread_barrier_init(&begin, NULL, producers + consumers + 1) == 0);
    for (uint32_t i = 0; i < producers + consumers; i++) {
        workers[i] = (struct worker){0, batches, 0, i};
        thread_start(&workers[i].thread, i < producers ? produce : consume, &workers[i]);
    }
    struct measure start = measure_now();
    pthread_barrier_wait(&begin);
    uint64_t operations = 0;
    for (uint32_t i = 0; i < producers + consumers; i++) {
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
        operations += workers[i].done;
    }
    measure_print(start, measure_now(), operations);
    return 0;
}
