/* whole.h - the whole allocator's clients: an object is handed to another thread, and at the end nothing is left. */
#ifndef JW_WHOLE_H
#define JW_WHOLE_H

#include "backend/backend.h"
#include "core/allocator.h"
#include "verify/clients/client.h"
#include "verify/clients/rest.h"
#include "verify/platform/model.h"

static _Atomic(void *) handed;

static inline void begin(void) {
    model_reservations_left = -1;
    bool started = allocator_start();
    assert(started);
}

static inline void *filled(void *object, size_t size, uint64_t value) {
    assert(object);
    fill(object, size, value);
    return object;
}

static inline void release(void *object, size_t size, uint64_t value) {
    expect(object, size, value);
    jw_free(object);
}

static inline void hand_over(void *object) {
    atomic_store_explicit(&handed, object, memory_order_release);
}

/* NULL: it has not come yet. */
static inline void *receive(void) {
    return atomic_exchange_explicit(&handed, NULL, memory_order_acquire);
}

/* The other thread: frees what has come, of the size that is its argument, and ends. */
static inline void *freeing(void *size) {
    void *object = receive();
    if (object) release(object, (size_t)size, 1);
    model_thread_exit();
    return NULL;
}

static inline void *reclaiming(void *unused) {
    (void)unused;
    thrift_purge();
    return NULL;
}

/* Frees the objects that no thread has received, and checks that all memory goes back. */
static inline void end(size_t size, uint64_t value) {
    void *object = receive();
    if (object) release(object, size, value);
    for (unsigned round = 0; round < 2; round++) thrift_purge(); /* one for each stack of abandoned heaps */
    assert(model_reserved_roots() == 0);
    expect_exact_counts();
}

/* A whole client: one thread allocates and hands over, another frees, a third runs a round. */
static inline void run_with_round(void *(*allocating)(void *), size_t size) {
    begin();
    pthread_t a = start(allocating, NULL), b = start(freeing, (void *)size), c = start(reclaiming, NULL);
    finish(a);
    finish(b);
    finish(c);
    end(size, 1);
}

/* The same from the allocation on: main has allocated, and ends. */
static inline void end_with_round(size_t size) {
    begin();
    hand_over(filled(jw_malloc(size), size, 1));
    pthread_t b = start(freeing, (void *)size), c = start(reclaiming, NULL);
    model_thread_exit();
    finish(b);
    finish(c);
    end(size, 1);
}

#endif
