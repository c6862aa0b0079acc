/* frontend_client.h - what the clients of the frontend have in common: objects that are filled and checked, and the
 * last look, by which nothing may be left.
 */
#ifndef JW_FRONTEND_CLIENT_H
#define JW_FRONTEND_CLIENT_H

#include "backend/thrift.h"
#include "core/allocator.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/heap_rounds.h"
#include "frontend/heap_table.h"
#include "frontend/thread_heap.h"
#include "verify/clients/client.h"
#include "verify/clients/rest.h"
#include "verify/platform/model.h"

static inline void start_allocator(void) {
    model_reservations_left = -1;
    bool started = allocator_start();
    assert(started);
}

static inline uint64_t *get(size_t size, uint64_t value) {
    uint64_t *object = jw_malloc(size);
    assert(object);
    fill(object, size, value);
    return object;
}

static inline void give(uint64_t *object, size_t size, uint64_t value) {
    expect(object, size, value);
    jw_free(object);
}

/* All heaps rest, and each can be taken once; the next is a new one. For main, with no heap of its own. */
static inline void expect_heaps_rest(void) {
    struct heap *taken[5];
    uint32_t count = heap_count();
    assert(heap_abandoned_count() == count && count <= 4);
    for (uint32_t i = 0; i <= count; i++) {
        taken[i] = heap_take_or_create();
        for (uint32_t j = 0; j < i; j++) assert(taken[i] != taken[j]);
    }
    assert(taken[count]->number == count + 1 && heap_count() == count + 1);
    for (uint32_t i = 0; i <= count; i++) heap_abandon(taken[i]);
}

/* The thread's end, and main's after all others: each slab is empty and found, or a root would stay. */
static inline void expect_nothing_left(void) {
    model_thread_exit();
    thrift_purge();
    thrift_purge(); /* ranges that were kept apart by a rollback meet at the latest here */
    assert(model_reserved_roots() == 0);
    expect_exact_counts();
    assert(other_bytes_in_use() == heap_count() * sizeof(struct heap)); /* what the limits count besides: only heaps */
}

#endif
