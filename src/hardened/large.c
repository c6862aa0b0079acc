/* large.c - guards and quarantine of objects that have pages of their own (large.h). */
#include "hardened/large.h"

#include <string.h>

#include "backend/huge.h"
#include "backend/knit.h"
#include "backend/large_object.h"
#include "backend/ownership.h"
#include "hardened/guard.h"
#include "hardened/open.h"
#include "hardened/regions.h"
#include "platform/platform.h"
#include "platform/random.h"

bool large_guard(char *object, size_t slot) {
    bool huge = !page_map_owns(object);
    if ((!huge && !guards_in_ranges()) || !guard_begin()) return false;
    if (platform_protect(object + slot, huge ? huge_guard() : LARGE_GUARD, false)) return true;
    guard_end();
    guard_refused();
    return false;
}

char *large_again(size_t size) {
    if (!large_fits(size, 1)) return NULL;
    bool empty;
    granule_id range = region_fetch_guarded((uint32_t)((size + LARGE_GUARD - 1) >> JW_GRANULE_SHIFT) + 1, &empty);
    if (!range) return NULL;
    char *object = large_allocate_held(range);
    if (!empty) check_zero(object, object_size(object));
    return object;
}

/* Gives the pages back to the OS, also those under the guard, and clears what the OS does not take, or what is to be
 * kept. True: the OS has taken all pages. */
static bool empty_large(const struct waiting_large *waiting, bool kept) {
    bool whole = waiting->huge || platform_page_size() <= GRANULE_SIZE;
    if (!kept && whole && platform_discard(waiting->start, waiting->size)) return true;
    memset(waiting->start, 0, waiting->size - (waiting->huge ? huge_guard() : LARGE_GUARD));
    return false;
}

/* Whether the range may wait with its guard: it is open or closed, as such a range must be (regions.h). */
static bool keeps_guard(const struct waiting_large *waiting) {
    return waiting->closed || (waiting->guarded && region_waits_open(waiting->size));
}

/* `closed`: the object may be without access. False: the OS refuses to take a huge object, which is as before. */
static bool free_waiting(const struct waiting_large *waiting, bool closed) {
    granule_id range = granule_of(waiting->start);
    if (waiting->huge) {
        if (!huge_finish_free(waiting->start, waiting->size - huge_guard(), closed)) return false;
        if (waiting->guarded) guard_end();
    } else if (keeps_guard(waiting) && guards_may_wait()) {
        region_place_large(range, true, waiting->untouched);
    } else if (!waiting->guarded || guard_open(range)) {
        region_place_large(range, false, waiting->guarded && waiting->untouched);
    }
    return true;
}

/* Gives the oldest object to the allocator. An object that the OS refuses to take becomes the newest one. */
static void large_ring_pop(struct large_ring *ring) {
    struct waiting_large first = ring->waiting[ring->first];
    ring->first = (ring->first + 1) % LARGE_WAITING;
    if (!first.huge) unused_note(first.untouched, -first.size);
    if (free_waiting(&first, first.guarded)) {
        ring->count--;
        ring->bytes -= first.size;
    } else {
        ring->waiting[(ring->first + ring->count - 1) % LARGE_WAITING] = first;
    }
}

static size_t most_bytes; /* of addresses that may wait in one ring without memory */

void large_start(void) {
    size_t share = platform_address_limit() / LARGE_ADDRESSES_SHARE;
    most_bytes = share < LARGE_ADDRESSES ? share : LARGE_ADDRESSES;
}

/* Adds an entry, which changes places with a random one of the newest part. */
static void put_large(struct large_ring *ring, const struct waiting_large *waiting) {
    uint32_t last = ring->first + ring->count++, at = last - random_less(ring->count / LARGE_SHUFFLED_PART + 1);
    ring->waiting[last % LARGE_WAITING] = ring->waiting[at % LARGE_WAITING];
    ring->waiting[at % LARGE_WAITING] = *waiting;
    ring->bytes += waiting->size;
}

static struct waiting_large taken_large(char *object, bool guarded) {
    if (!page_map_owns(object))
        return (struct waiting_large){object, huge_begin_free(object) + huge_guard(), true, guarded, false, false};
    granule_id range = large_begin_free(object);
    size_t size = (size_t)knit_weight(range) << JW_GRANULE_SHIFT;
    return (struct waiting_large){granule_address(range), size, false, guarded, false, false};
}

static bool has_place(const struct large_ring *ring, size_t size) {
    return ring->count < LARGE_WAITING && ring->bytes + size <= ring->most;
}

/* Makes room for one more. False: it is too large, or the OS refuses to take objects that wait. */
static bool make_place(struct large_ring *ring, size_t size) {
    if (size > ring->most / QUARANTINE_PART) return false;
    for (uint32_t left = ring->count; left > 0 && !has_place(ring, size); left--) large_ring_pop(ring);
    return has_place(ring, size);
}

void large_rings_begin(struct large_rings *rings, size_t most) {
    rings->emptied.most = most_bytes;
    rings->kept.most = most < LARGE_KEPT ? most : LARGE_KEPT;
}

void large_push(struct large_rings *rings, char *object, bool guarded) {
    struct waiting_large waiting = taken_large(object, guarded);
    bool kept =
        rings && guarded && !waiting.huge && region_waits_open(waiting.size) && make_place(&rings->kept, waiting.size);
    bool waits = kept || (rings && make_place(&rings->emptied, waiting.size));
    if (waits || !waiting.huge) {
        waiting.untouched = empty_large(&waiting, kept);
        bool closes = guarded && (waiting.untouched || !region_waits_open(waiting.size));
        waiting.closed = closes && platform_protect(waiting.start, waiting.size, false);
        if (guarded) waiting.untouched &= waiting.closed;
    }
    if (!waits) {
        free_waiting(&waiting, false);
        return;
    }
    if (!waiting.huge) unused_note(waiting.untouched, waiting.size); /* the backend does not count huge objects */
    put_large(kept ? &rings->kept : &rings->emptied, &waiting);
}

static bool large_ring_drain(struct large_ring *ring) {
    for (uint32_t left = ring->count; left > 0; left--) large_ring_pop(ring);
    return ring->count == 0;
}

bool large_rings_drain(struct large_rings *rings) {
    bool emptied = large_ring_drain(&rings->emptied);
    return large_ring_drain(&rings->kept) && emptied;
}
