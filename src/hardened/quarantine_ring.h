/* quarantine_ring.h - what malloc and free themselves do with a quarantine (quarantine.h): its state is outside the
 * objects.
 *
 *   ring      | .. | head + 1: the oldest | .. | the newest | .. |    a power of two of entries
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
#include "hardened/fill_words.h"
#include "hardened/large.h"
#include "hardened/quarantine_entry.h"
#include "hardened/trailer.h"

/* What malloc and free need of a class. Its size is a multiple of FREE_TARGET_WORDS (place_of_list). */
struct quarantine_class {
    char **ready;      /* the newest ready object; its list ends with NULL */
    char **ready_last; /* the highest that `ready` may be */
    uint64_t step;     /* product of a slot's size for address_byte (secret.h) */
    uint64_t push;     /* what an own object adds to the quarantine's state */
    uint64_t entry;    /* an own object's entry without the address */
    uint16_t slot;     /* bytes of an object with its trailer */
    uint8_t charge;    /* what the ring counts for it */
    uint8_t pad[sizeof(void *) == 8 ? 21 : 13];
};
_Static_assert(sizeof(struct quarantine_class) % FREE_TARGET_WORDS == 0, "a list's index tells the class's place");

/* What the ring counts for a slot: its bytes, but QUARANTINE_ENTRY_BYTES at least. So the limit also bounds the number
 * of entries. `push` counts CHARGED_SLOWLY more, if free's short way is not for the class. */
enum { CHARGE_UNIT = 16, CHARGED_SLOWLY = 1 << 30 };
static ALWAYS_INLINE size_t charge_of(size_t slot) {
    return (slot < QUARANTINE_ENTRY_BYTES ? QUARANTINE_ENTRY_BYTES : slot) / CHARGE_UNIT;
}
_Static_assert(FRONTEND_MAX / CHARGE_UNIT <= UINT8_MAX, "the charge of a class is a byte");

/* A slot of any other size takes more than free has in its short way. */
static ALWAYS_INLINE bool is_cleared_inline(size_t slot) {
    return slot - PAIRED_MIN <= CLEARED_INLINE - PAIRED_MIN;
}

/* Entries have numbers that count up, and a mask makes them an index.
 *
 *   state   | 63..32 what fits in the ring yet, in units of CHARGE_UNIT bytes; signed | 31..0 the newest entry's |
 */
enum { LEFT_SHIFT = 32 };

/* A signal handler's fork, and what it allocates, may take the two steps of ready_take apart: so two. */
enum { READY_ENDS = 2 };

struct quarantine {
    size_t limit; /* the option's value when the ring was made */
    uint64_t state;
    uint32_t head; /* number of the entry before the oldest one */
    uint32_t mask;
    bool clears;            /* zero_on_free */
    bool fenced;            /* the mapping has a fence (platform/fence.h) */
    volatile bool changing; /* by one of the steps that are not each malloc's or free's (quarantine_child_begins) */
    struct large_rings large;
    struct quarantine_class of[DISABLED + 1];
    char *ready[DISABLED + 1][READY_ENDS + READY_MOST]; /* NULL, NULL, then the objects */
    struct quarantine_entry ring[];
};

static ALWAYS_INLINE int64_t quarantine_left(const struct quarantine *quarantine) {
    return (int64_t)quarantine->state >> LEFT_SHIFT;
}

static ALWAYS_INLINE uint32_t quarantine_newest(const struct quarantine *quarantine) {
    return (uint32_t)quarantine->state;
}

static ALWAYS_INLINE void quarantine_set(struct quarantine *quarantine, int64_t left, uint32_t newest) {
    quarantine->state = (uint64_t)left << LEFT_SHIFT | newest;
}

/* What an object adds to the state. */
static ALWAYS_INLINE uint64_t push_of(uint64_t charge) {
    return 1 - (charge << LEFT_SHIFT);
}

/* Bytes from the first class to the class of a list's index, which stands for a class as in heap->first: so malloc uses
 * what the heap's map tells. */
static ALWAYS_INLINE size_t place_of_list(size_t list) {
    return list * (sizeof(struct quarantine_class) / FREE_TARGET_WORDS);
}

static ALWAYS_INLINE size_t place_of_class(unsigned class) {
    return class * sizeof(struct quarantine_class);
}
_Static_assert(sizeof(struct quarantine_class[DISABLED + 1]) <= ENTRY_PLACE_MOST, "a class's place fits in an entry");

/* The address is computed before malloc knows whether there is a quarantine, so as a number. */
static ALWAYS_INLINE struct quarantine_class *class_at(struct quarantine *quarantine, size_t place) {
    uintptr_t class = (uintptr_t)quarantine + offsetof(struct quarantine, of) + place;
    return (struct quarantine_class *)class; // NOLINT(performance-no-int-to-ptr)
}

/* Puts an entry into the ring, which has room for it. `state`: the new one. */
static ALWAYS_INLINE void quarantine_put(struct quarantine *quarantine, uint64_t state, struct quarantine_entry entry) {
    quarantine->state = state;
    quarantine->ring[(uint32_t)state & quarantine->mask] = entry;
}

/* Fetches the lines of a free slot that malloc reads first: its start and its trailer. `object` may be NULL. */
static ALWAYS_INLINE void slot_prefetch(const void *object, size_t slot) {
    uintptr_t start = (uintptr_t)object;
    __builtin_prefetch(object, 1);
    __builtin_prefetch((const void *)(start + slot - TRAILER_SIZE), 1); // NOLINT(performance-no-int-to-ptr)
}

/* Takes a ready object. NULL: there is none, or a fork's child has taken it over, in a signal handler. */
static ALWAYS_INLINE char *ready_take(struct quarantine_class *class) {
    char **top = class->ready;
    class->ready = top - 1;
    signals_see_order(); /* take_over_ready relies on it */
    char *object = *top;
    slot_prefetch(top[-1], class->slot);
    if (UNLIKELY(!object)) class->ready = top;
    return object;
}

/* False: the class has as many as it may. */
static ALWAYS_INLINE bool ready_put(struct quarantine_class *class, char *object) {
    char **top = class->ready;
    if (UNLIKELY(top >= class->ready_last)) return false;
    *++top = object;
    class->ready = top;
    return true;
}

#endif
