/* hooks.c - the functions of the hardened build that the tiers call (backend/hardened_hooks.h). */
#include "backend/hardened_hooks.h"

#include <string.h>

#include "config/options.h"
#include "config/statistics_types.h"
#include "hardened/large.h"
#include "hardened/open.h"
#include "hardened/quarantine.h"
#include "hardened/regions.h"
#include "hardened/secret.h"
#include "hardened/trailer.h"
#include "hardened/zero_size.h"
#include "platform/random.h"
#include "platform/tags.h"
#include "sync/free_link.h"

_Static_assert(SLOT_TAIL == TRAILER_SIZE, "what the midend leaves of a free object is its trailer");

static void start_hardened(void) {
    random_begin();
    secrets_start();
    regions_start();
    zero_size_start();
    large_start();
}

/* The last trailer of a slot of a slab that the class had before: it has the tag that the new object must not get. Else
 * `first`. */
static struct trailer last_trailer(const char *object, size_t size, struct trailer first) {
    struct trailer last;
    uint64_t word = atomic_load_explicit(trailer_of(object, size), memory_order_relaxed);
    return trailer_read(object, size, word, &last, keyed_way()) == FREED ? last : first;
}

/* Writes FREED trailers. All else but first words, where links were, is zero: the OS or region_fetch has cleared the
 * slab, or its class had it before and free has cleared its objects. The trailer comes first: a new page has one fault.
 */
static void objects_are_new(char *first, size_t count, size_t size) {
    const enum keyed_way way = keyed_way();
    const bool cleared = option(&options.zero_on_free) && !tags_active;
    ASSUME(size <= FRONTEND_MAX && size % SMALLEST_OBJECT == 0); /* so the trailer's format is a constant */
    for (char *object = first; object < first + count * size; object += size) {
        struct trailer trailer = trailer_by(object, size, 0, way);
        if (tags_active) trailer = last_trailer(object, size, trailer);
        atomic_store_explicit(trailer_of(object, size), trailer_made(trailer, FREED), memory_order_relaxed);
        link_clear(object);
        if (LIKELY(cleared)) check_zero(object, size);
        else memset(object, 0, size - TRAILER_SIZE);
    }
}

static bool object_waits(const char *object, size_t size) {
    struct trailer trailer;
    uint64_t word = atomic_load_explicit(trailer_of(object, size), memory_order_relaxed);
    return trailer_read(object, size, word, &trailer, keyed_way()) == FREED;
}

static uint64_t move_bytes(uint64_t *from, _Atomic(size_t) *bytes) {
    uint64_t most = atomic_load_explicit(bytes, memory_order_relaxed), some = most < *from ? most : *from;
    *from -= some;
    return some;
}

static void leave_out_unused(struct backend_statistics *statistics) {
    statistics->cached_mapped += move_bytes(&statistics->in_use, &unused_bytes[false]);
    statistics->cached_unmapped += move_bytes(&statistics->in_use, &unused_bytes[true]);
}

static void begin_child(void) {
    random_begin();
    quarantine_child_begins();
}

const struct hardened_hooks hardened_hooks = {
    .at_start = start_hardened,
    .slab_fetch = region_fetch,
    .slab_place = region_place,
    .large_fetch = region_fetch_large,
    .objects_are_new = objects_are_new,
    .object_waits = object_waits,
    .leave_out_unused = leave_out_unused,
    .child_begins = begin_child,
    .choose_way = way_choose,
    .thread_ends = quarantine_drain,
};
