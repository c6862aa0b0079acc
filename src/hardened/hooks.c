/* hooks.c - the functions of the hardened build that the tiers call (backend/hooks.h). */
#include "backend/hooks.h"

#include "hardened/guard.h"
#include "hardened/quarantine.h"
#include "hardened/secret.h"
#include "hardened/trailer.h"

_Static_assert(SLOT_TAIL == TRAILER_SIZE, "what the midend leaves of a free object is its trailer");

static void start(void) {
    secrets_start();
    guard_start();
}

static void object_is_new(char *object, size_t size) {
    atomic_store_explicit(trailer_of(object, size), trailer_made(trailer_for(object, 0), FREED), memory_order_relaxed);
}

static bool object_waits(const char *object, size_t size) {
    struct trailer trailer;
    uint64_t word = atomic_load_explicit(trailer_of(object, size), memory_order_relaxed);
    return trailer_read(object, word, &trailer) == FREED;
}

const struct hooks hardened_hooks = {
    .at_start = start,
    .slab_fetch = guarded_fetch,
    .slab_place = guarded_place,
    .object_is_new = object_is_new,
    .object_waits = object_waits,
    .thread_ends = quarantine_leave,
};
