/* memory.c - what a page's size costs: prints the resident memory of programs of a few kinds, in KB.
 *
 * Memory that no file stands behind, less that of the same process before its first allocation of the kind. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../check.h"
#include "../entry_points.h"

enum { FEW = 200, THREADS = 20, OBJECTS = 150000, KEPT = 20, PAUSE_S = 3 };

static pthread_barrier_t made, measured;
static void *objects[OBJECTS];

/* Mostly small: 16 B to 2 KB, one in 64 has up to 16 KB, one in 1,024 up to 128 KB. */
static size_t size_of(unsigned i) {
    unsigned random = (i * 2654435761u) >> 8;
    if (i % 1024 == 0) return 1 + random % (128 << 10);
    if (i % 64 == 0) return 1 + random % (16 << 10);
    return 16 + random % (16u << (random >> 12) % 6);
}

static void *object_new(unsigned i) {
    size_t size = size_of(i);
    char *object = malloc(size);
    CHECK(object != NULL);
    memset(object, 1, size);
    return object;
}

static void *thread_of_few(void *start) {
    for (unsigned i = 0; i < FEW; i++) objects[*(unsigned *)start + i] = object_new(i + 1);
    pthread_barrier_wait(&made);
    pthread_barrier_wait(&measured);
    return NULL;
}

static void show(const char *kind, size_t bytes) {
    printf("memory  %-60s %7zu KB\n", kind, bytes >> 10);
}

static void threads_with_few(void) {
    pthread_t threads[THREADS];
    unsigned starts[THREADS];
    pthread_barrier_init(&made, NULL, THREADS + 1);
    pthread_barrier_init(&measured, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        starts[i] = i * FEW;
        CHECK(pthread_create(&threads[i], NULL, thread_of_few, &starts[i]) == 0);
    }
    pthread_barrier_wait(&made);
    show("20 threads with 200 objects each, stacks too", resident_bytes());
    pthread_barrier_wait(&measured);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS * FEW; i++) free(objects[i]);
}

int main(void) {
    size_t before = resident_bytes(), asked = 0;
    show("before the first allocation", before);
    for (unsigned i = 0; i < FEW; i++) objects[i] = object_new(i + 1);
    show("one thread with 200 objects", resident_bytes());
    for (unsigned i = 0; i < FEW; i++) free(objects[i]);
    threads_with_few();
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = object_new(i);
        asked += size_of(i);
    }
    show("150,000 objects: asked for", asked);
    show("150,000 objects: resident", resident_bytes());
    for (unsigned i = 0; i < OBJECTS; i++)
        if (i % KEPT != 0) free(objects[i]);
    sleep(PAUSE_S);
    show("every 20th of them left, after 3 s", resident_bytes());
    for (unsigned i = 0; i < OBJECTS; i += KEPT) free(objects[i]);
    sleep(PAUSE_S);
    show("none left, after 3 s", resident_bytes());
    return 0;
}
