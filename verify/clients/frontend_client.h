/* frontend_client.h - what the clients of the frontend have in common: objects that are filled and checked, and the last
 * look, by which nothing may be left.
 */
#ifndef JW_FRONTEND_CLIENT_H
#define JW_FRONTEND_CLIENT_H

#include "backend/thrift.h"
#include "frontend/allocator.h"
#include "verify/clients/client.h"
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

/* The thread's end, and main's after all others: each slab is empty and found, or a root would stay. */
static inline void expect_nothing_left(void) {
    model_thread_exit();
    thrift_purge();
    thrift_purge(); /* ranges that were kept apart by a rollback meet at the latest here */
    assert(model_reserved_roots() == 0);
}

#endif
