/* mid_cache_held.h - a round over the caches of a thread that holds a slab, for the clients of midend/mid_hold.h. */
#ifndef JW_MID_CACHE_HELD_H
#define JW_MID_CACHE_HELD_H

#include "verify/clients/midend_slabs.h"

static struct mid_cache mid_caches[MID_CACHES];

static void *reclaiming(void *unused) {
    (void)unused;
    midend_round_of_caches(mid_caches, true);
    return NULL;
}

#endif
