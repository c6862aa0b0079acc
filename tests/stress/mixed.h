/* mixed.h - random work over all tiers, threads that come and go, objects that change hands, every byte checked.
 *
 * The work of each thread is fixed by its seed, so a run does the same whatever the machine's speed.
 */
#ifndef JW_TESTS_MIXED_H
#define JW_TESTS_MIXED_H

#include <pthread.h>
#include <stdatomic.h>

#include "check.h"
#include "entry_points.h"

#define KB ((size_t)1024)

enum { HELD = 256, MAILBOXES = 64, MAX_THREADS = 64 };

struct object {
    void *bytes;
    size_t size;
    uint64_t seed;
};

/* Where objects change hands. Nobody waits for a busy box. */
static struct mailbox {
    atomic_flag busy;
    struct object object;
} mailboxes[MAILBOXES];

static size_t operations; /* of each thread */

static size_t random_size(uint64_t *state) {
    uint64_t kind = random_below(state, 1000);
    if (kind < 700) return random_below(state, (size_t)16 << random_below(state, 8)) + 1; /* up to 2 KB */
    if (kind < 900) return 2 * KB + random_below(state, 14 * KB);
    if (kind < 996) return 16 * KB + random_below(state, (size_t)1 << (12 + random_below(state, 8)));
    if (kind < 999 || random_below(state, 4) != 0) return 512 * KB + random_below(state, 3584 * KB);
    return 4096 * KB + random_below(state, 4096 * KB);
}

static void object_new(struct object *object, uint64_t *state) {
    size_t alignment = 1;
    object->size = random_size(state);
    object->seed = random_next(state);
    switch (random_below(state, 6)) {
    case 0:
        object->bytes = calloc(1, object->size);
        CHECK(object->bytes != NULL && bytes_are_zero(object->bytes, object->size));
        break;
    case 1:
        alignment = (size_t)8 << random_below(state, 12);
        object->bytes = aligned_alloc(alignment, object->size);
        break;
    case 2: object->bytes = realloc(NULL, object->size); break;
    default: object->bytes = malloc(object->size);
    }
    CHECK(object->bytes != NULL);
    CHECK(((uintptr_t)object->bytes & (alignment - 1)) == 0);
    CHECK(((uintptr_t)object->bytes & (object->size < 16 ? 7 : alignment > 1 ? 7 : 15)) == 0);
    pattern_fill(object->bytes, object->size, object->seed);
}

static void object_free(struct object *object) {
    if (object->bytes == NULL) return;
    CHECK(pattern_holds(object->bytes, object->size, object->seed));
    free(object->bytes);
    object->bytes = NULL;
}

static void object_resize(struct object *object, uint64_t *state) {
    size_t size = random_size(state);
    if (object->bytes == NULL) return;
    object->bytes = realloc(object->bytes, size);
    CHECK(object->bytes != NULL);
    CHECK(pattern_holds(object->bytes, size < object->size ? size : object->size, object->seed));
    object->size = size;
    pattern_fill(object->bytes, size, object->seed);
}

static void object_exchange(struct object *object, struct mailbox *mailbox) {
    if (atomic_flag_test_and_set_explicit(&mailbox->busy, memory_order_acquire)) return;
    struct object other = mailbox->object;
    mailbox->object = *object;
    *object = other;
    atomic_flag_clear_explicit(&mailbox->busy, memory_order_release);
}

/* A thread ends with objects in the mailboxes and, one time in two, with all its own ones left to the main thread. */
struct worker {
    pthread_t thread;
    uint64_t seed;
    struct object held[HELD];
};

static void *work(void *argument) {
    struct worker *worker = argument;
    uint64_t state = worker->seed;
    for (size_t i = 0; i < operations; i++) {
        struct object *object = &worker->held[random_below(&state, HELD)];
        uint64_t kind = random_below(&state, 100);
        if (kind < 12) object_exchange(object, &mailboxes[random_below(&state, MAILBOXES)]);
        else if (kind < 20) object_resize(object, &state);
        else if (object->bytes != NULL) object_free(object);
        else object_new(object, &state);
    }
    if (worker->seed % 2 == 0)
        for (size_t i = 0; i < HELD; i++) object_free(&worker->held[i]);
    return NULL;
}

static struct worker workers[MAX_THREADS];

static void start(struct worker *worker, uint64_t seed) {
    worker->seed = seed;
    CHECK(pthread_create(&worker->thread, NULL, work, worker) == 0);
}

/* One worker is replaced at a time; the new one inherits what the old one held. In the end all is free. */
static void mixed_work(size_t threads, size_t operations_of_each, size_t generations, uint64_t seed) {
    CHECK(threads >= 1 && threads <= MAX_THREADS);
    printf("mixed %zu %zu %zu %llu\n", threads, operations_of_each, generations, (unsigned long long)seed);
    operations = operations_of_each;
    for (size_t i = 0; i < threads; i++) start(&workers[i], seed++);
    for (size_t i = 0; i < threads * generations; i++) {
        struct worker *worker = &workers[i % threads];
        CHECK(pthread_join(worker->thread, NULL) == 0);
        if (i < threads * (generations - 1)) start(worker, seed++);
    }
    for (size_t i = 0; i < threads; i++)
        for (size_t j = 0; j < HELD; j++) object_free(&workers[i].held[j]);
    for (size_t i = 0; i < MAILBOXES; i++) object_free(&mailboxes[i].object);
    malloc_trim(0);
}

#endif
