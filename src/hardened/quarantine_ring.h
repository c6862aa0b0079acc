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
#include "hardened/fill_words.h"
#include "hardened/large.h"
#include "hardened/quarantine_entry.h"

/* What malloc and free need of a class. */
struct quarantine_class {
    uint64_t step;       /* product of a slot's size for address_byte (secret.h) */
    uint32_t charge;     /* what the ring counts for it; CHARGED_SLOWLY more, if free's short way is not for it */
    uint16_t slot;       /* bytes of an object with its trailer */
    uint8_t ready_most;  /* ready objects that it may have */
    uint8_t ready_count; /* that it has; DISABLED (frontend/disable.h) never has one */
};

/* What the ring counts for a slot: its bytes, but QUARANTINE_ENTRY_BYTES at least. So the limit also bounds the number
 * of entries. */
enum { CHARGE_UNIT = 16, CHARGED_SLOWLY = 1 << 30 };
static ALWAYS_INLINE size_t charge_of(size_t slot) {
    return (slot < QUARANTINE_ENTRY_BYTES ? QUARANTINE_ENTRY_BYTES : slot) / CHARGE_UNIT;
}
_Static_assert(FRONTEND_MAX / CHARGE_UNIT <= UINT8_MAX, "the charge of a class is a byte");
_Static_assert(READY_MOST <= UINT8_MAX, "the ready objects of a class are counted in a byte");

/* A slot of any other size takes more than free has in its short way. */
static ALWAYS_INLINE bool is_cleared_inline(size_t slot) {
    return slot - PAIRED_MIN <= CLEARED_INLINE - PAIRED_MIN;
}

static ALWAYS_INLINE size_t charge_of_class(const struct quarantine_class *class) {
    return (uint8_t) class->charge;
}

struct quarantine {
    size_t limit;        /* the option's value when the ring was made */
    int64_t left;        /* what fits in the ring yet, in units of CHARGE_UNIT bytes */
    uint32_t head, tail; /* of the ring */
    uint32_t mask;
    bool clears;            /* zero_on_free */
    volatile bool changing; /* by one of the steps that are not each malloc's or free's (quarantine_child_begins) */
    struct large_rings large;
    struct quarantine_class of[DISABLED + 1];
    char *ready[(DISABLED + 1) * READY_MOST];
    struct quarantine_entry ring[];
};

/* Bytes from the first class to the class of a list's index, which stands for a class as in heap->first: so malloc uses
 * what the heap's map tells. */
static ALWAYS_INLINE size_t place_of_list(size_t list) {
    return list * (sizeof(struct quarantine_class) / FREE_TARGET_WORDS);
}

static ALWAYS_INLINE size_t place_of_class(unsigned class) {
    return class * sizeof(struct quarantine_class);
}

static ALWAYS_INLINE struct quarantine_class *class_at(struct quarantine *quarantine, size_t place) {
    return (struct quarantine_class *)((char *)quarantine->of + place);
}

/* Where the class's ready objects are. */
static ALWAYS_INLINE char **ready_at(struct quarantine *quarantine, size_t place) {
    return &quarantine->ready[place / (sizeof(struct quarantine_class) / READY_MOST)];
}

static ALWAYS_INLINE void quarantine_put(struct quarantine *quarantine, struct quarantine_entry entry) {
    quarantine->ring[quarantine->tail++ & quarantine->mask] = entry;
}

/* Takes a ready object of the class at the place. NULL: there is none. */
static ALWAYS_INLINE char *ready_take(struct quarantine *quarantine, size_t place) {
    if (UNLIKELY(!quarantine)) return NULL;
    struct quarantine_class *class = class_at(quarantine, place);
    uint32_t count = class->ready_count;
    if (UNLIKELY(count == 0)) return NULL;
    count = half_computed_now(count - 1); /* once, for both uses */
    class->ready_count = (uint8_t)count;
    signals_see_order();                       /* take_over_ready relies on it */
    return ready_at(quarantine, place)[count]; /* NULL: a fork's child has taken it over, in a signal handler */
}

/* False: the class has as many as it may. */
static ALWAYS_INLINE bool ready_put(struct quarantine *quarantine, size_t place, char *object) {
    struct quarantine_class *class = class_at(quarantine, place);
    uint32_t count = class->ready_count;
    if (UNLIKELY(count >= class->ready_most)) return false;
    ready_at(quarantine, place)[count] = object;
    class->ready_count = (uint8_t)(count + 1);
    return true;
}

#endif
