/* at_hand_owner.h - a thread that puts a range at hand and takes it again, beside another thread. For clients. */
#ifndef AT_HAND_OWNER_H
#define AT_HAND_OWNER_H

#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct at_hand at_hand;
static void *object;

static void keep(void *freed) {
    granule_id range = backend_take_whole(freed);
    assert(range);
    backend_keep(&at_hand, range);
}

static void *owning(void *unused) {
    (void)unused;
    at_hand_enter(&at_hand);
    fill(object, SIZE, 1);
    keep(object);
    if ((object = backend_allocate_at_hand(&at_hand, SIZE))) {
        fill(object, SIZE, 2);
        keep(object);
    }
    at_hand_enter(NULL);
    return NULL;
}

/* Runs both threads; in the end the range is free once, and the count of what is at hand is right. */
static void own_beside(void *(*other)(void *)) {
    bool zeroed;
    begin();
    object = backend_allocate(SIZE, 1, &zeroed);
    assert(object);
    pthread_t a = start(owning, NULL), b = start(other, NULL);
    finish(a);
    finish(b);
    granule_id left = (granule_id)at_hand_granules(&at_hand);
    uint32_t drained = atomic_load_explicit(&at_hand.drained, memory_order_relaxed) - at_hand.drained_seen;
    assert(at_hand.most - at_hand.room - (int32_t)drained == (int32_t)left);
    at_hand_drain(&at_hand, false); /* what the last put has left: seen, then given back */
    at_hand_drain(&at_hand, false);
    assert(at_hand_granules(&at_hand) == 0);
    end();
}

#endif
