/* hold_client.h - what the clients of a hold (frontend/hold.h) have in common: main holds off a thread, which allocates
 * behind the hold.
 */
#ifndef JW_HOLD_CLIENT_H
#define JW_HOLD_CLIENT_H

#include <sched.h>

#include "frontend/hold.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 48 };

static _Atomic(bool) held;
static uint64_t done; /* written by the holder, while it is that */

/* By the other thread: an object comes after the holder has let go. */
static inline void use_behind_hold(size_t size) {
    while (!atomic_load_explicit(&held, memory_order_acquire)) sched_yield();
    uint64_t *object = get(size, 2);
    assert(done == 1);
    give(object, size, 2);
}

/* By main, which has one object. */
static inline void hold_off(void *(*body)(void *), uint64_t *own) {
    pthread_t other = start(body, NULL);
    hold_others();
    atomic_store_explicit(&held, true, memory_order_release);
    done = 1;
    hold_end();
    finish(other);
    give(own, SIZE, 1);
    expect_nothing_left();
}

#endif
