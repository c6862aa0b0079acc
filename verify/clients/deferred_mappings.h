/* deferred_mappings.h - two mappings that the OS refuses to unmap at first, and threads that defer and offer them. */
#ifndef JW_CLIENTS_DEFERRED_MAPPINGS_H
#define JW_CLIENTS_DEFERRED_MAPPINGS_H

#include "platform/deferred_unmap.h"

#include "config/geometry.h"
#include "platform/platform.h"
#include "verify/clients/client.h"
#include "verify/platform/model.h"

static void *first, *second;

static void *releasing(void *mapping) {
    fill(mapping, ROOT_SIZE, 1);
    unmap_or_defer(mapping, ROOT_SIZE);
    return NULL;
}

static void *offering(void *unused) {
    (void)unused;
    unmap_deferred();
    assert(deferred_bytes() <= 2 * ROOT_SIZE); /* while others defer and take */
    return NULL;
}

static inline void begin(void) {
    model_reservations_left = -1;
    atomic_store_explicit(&model_unmaps_refused, 3, memory_order_relaxed);
    first = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client");
    second = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client");
}

/* After the threads: nothing is lost, and nothing counts as deferred. */
static inline void end(void) {
    atomic_store_explicit(&model_unmaps_refused, 0, memory_order_relaxed);
    for (unsigned rounds = 0; unmap_deferred(); rounds++) assert(rounds < 2);
    assert(model_reserved_roots() == 0 && deferred_bytes() == 0);
}

#endif
