/* quarantine_ring.h - what malloc and free themselves do with a quarantine (quarantine.h): its state is outside the
 * objects.
 *
 *   ring      | .. | head: the oldest | .. | tail - 1: the newest | .. |    a power of two of entries; head and tail
 *                                                                         count up, and a mask makes them an index
 *   ready     of each class: the last objects that left the ring. malloc takes them first. They were never in a list
 *             of the allocator, and have no link
 *
 *   an object   free -> ring -> ready -> malloc
 *                       ring -> a list of the allocator, if its class has enough ready ones
 *
 * Only the heap's thread uses it. Here are the steps of each malloc and free; all else is in quarantine.c. */
#ifndef JW_QUARANTINE_RING_H
#define JW_QUARANTINE_RING_H

#include "config/options.h"
#include "config/policy.h"
#include "frontend/heap.h"
#include "hardened/large.h"
#include "hardened/quarantine_entry.h"

/* A list's index stands for a class, as in heap->first: so malloc uses what the heap's map tells. The map may tell
 * DISABLED (frontend/disable.h), whose list is always empty. */
enum { READY_LISTS = (DISABLED + 1) * FREE_TARGET_WORDS };
/* For each index; a class has those of all its indices. */
enum { READY_PLACES = (READY_MOST + FREE_TARGET_WORDS - 1) / FREE_TARGET_WORDS };

struct quarantine {
    size_t limit, bytes;       /* the option's value when the ring was made; bytes of the objects in the ring */
    size_t cleared;            /* bytes of the largest slot that free clears by itself; 0: zero_on_free is not set */
    uint32_t head, tail, mask; /* of the ring */
    uint32_t end, most;        /* where tail may not go: most entries behind head */
    struct large_ring large;
    uint32_t ready_count[READY_LISTS], ready_most[READY_LISTS];
    uint32_t slot[READY_LISTS]; /* bytes of an object with its trailer */
    char *ready[READY_LISTS * READY_PLACES];
    struct quarantine_entry ring[];
};

static ALWAYS_INLINE void quarantine_put(struct quarantine *quarantine, const char *object, size_t slot) {
    quarantine->ring[quarantine->tail++ & quarantine->mask] = entry_made(object, slot);
    quarantine->bytes += slot;
}

/* Takes a ready object of the list's class. NULL: there is none. */
static ALWAYS_INLINE char *ready_take(struct quarantine *quarantine, unsigned list) {
    if (UNLIKELY(!quarantine)) return NULL;
    uint32_t count = quarantine->ready_count[list];
    if (UNLIKELY(count == 0)) return NULL;
    quarantine->ready_count[list] = --count;
    char *object = quarantine->ready[list * READY_PLACES + count];
    ASSUME(object);
    return object;
}

/* False: the class has as many as it may. */
static ALWAYS_INLINE bool ready_put(struct quarantine *quarantine, unsigned list, char *object) {
    uint32_t count = quarantine->ready_count[list];
    if (count >= quarantine->ready_most[list]) return false;
    quarantine->ready[list * READY_PLACES + count] = object;
    quarantine->ready_count[list] = count + 1;
    return true;
}

#endif
