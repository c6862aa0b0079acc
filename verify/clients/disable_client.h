/* disable_client.h - what the clients of frontend/disable.h have in common: main disables a thread, which allocates
 * behind that.
 */
#ifndef JW_DISABLE_CLIENT_H
#define JW_DISABLE_CLIENT_H

#include <sched.h>

#include "frontend/disable.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 48 };

static struct heap *its; /* the other thread's, from make_its on */
static _Atomic(bool) held;
static uint64_t done; /* written by the disabler, while it is that */

/* By the other thread: an object comes after the disabler has enabled the others. */
static inline void use_behind_disable(size_t size) {
    while (!atomic_load_explicit(&held, memory_order_acquire)) sched_yield();
    uint64_t *object = get(size, 2);
    assert(done == 1);
    give(object, size, 2);
}

/* By main: makes a heap for the other thread, beside that of its own object, which is returned. */
static inline uint64_t *make_its(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 1);
    its = heap_take_or_create();
    assert(its);
    return own;
}

/* By main, which has one object. */
static inline void disable_and_run(void *(*body)(void *), uint64_t *own) {
    pthread_t other = start(body, NULL);
    disable_others();
    atomic_store_explicit(&held, true, memory_order_release);
    done = 1;
    disable_end();
    finish(other);
    give(own, SIZE, 1);
    expect_nothing_left();
}

#endif
