/* cross_list.h - the objects of a slab that other threads have freed: one word.
 *
 *   cross   | 31 full | 30 watched | 29..16 count | 15..0 distance of the first object from the origin, 0: none |
 *
 *   transition   by whom                     word
 *   push         any thread but the owner    count + 1, distance = the object's, full = watched = 0; its link leads on
 *   drain        owner, local list empty     0: one exchange moves the whole list; it is never walked
 *   format       owner                       a new slab is marked: full = 1
 *   mark full    owner, nothing left and     only from 0: full = 1. The first push after that clears the bit: that
 *                not marked (slab.h)         thread, and no other, must return the slab to its owner (heap.h,
 *                                            `reopened`)
 *   watch, take  a round                     remote_reclaim.h
 *
 * The objects are linked (free_link.h). The origin is the address before the slab: odd, so that it ends a list. The
 * count alone answers the periodic question whether all objects of the slab are free. Progress: lock-free.
 */
#ifndef JW_CROSS_LIST_H
#define JW_CROSS_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/misuse.h"
#include "config/size_classes.h"
#include "frontend/remote_work.h"
#include "platform/instructions.h"
#include "sync/free_link.h"

typedef _Atomic(uint32_t) cross_list;

#define CROSS_FULL 0x80000000u
#define CROSS_WATCHED 0x40000000u
#define CROSS_MARKS (CROSS_FULL | CROSS_WATCHED)
#define CROSS_ONE 0x10000u

_Static_assert(GRANULE_SIZE / SMALLEST_OBJECT < CROSS_WATCHED / CROSS_ONE, "the count fits below the marks");
_Static_assert(GRANULE_SIZE <= CROSS_ONE && GRANULE_SIZE % 8 == 0, "a distance fits below the count, and is odd");

/* What a round has done with a slab that it has taken, in place of the distance, which is odd where there is one. The
 * count and WATCHED stay. */
enum { CROSS_GIVING = 2, CROSS_GIVEN = 4, CROSS_KEPT = 6, CROSS_TAKEN = 6 };

static inline unsigned cross_count_of(uint32_t word) {
    return (word & ~CROSS_MARKS) / CROSS_ONE;
}

/* Whether a round has taken the slab. No thread pushes to it then. */
static inline bool cross_is_taken(uint32_t word) {
    return !(word & 1) && word & CROSS_TAKEN;
}

static inline unsigned cross_count(const cross_list *list) {
    return cross_count_of(atomic_load_explicit(list, memory_order_relaxed));
}

static ALWAYS_INLINE char *cross_first(char *origin, uint32_t word) {
    return origin + (uint16_t)word;
}

/* The word after a push onto a list that is not marked full: one more object, and the distance moves from `first` to
 * `object`. */
static ALWAYS_INLINE uint32_t cross_pushed(uint32_t old, const char *first, const char *object) {
    return old + CROSS_ONE + ((uint32_t)(uintptr_t)object - (uint32_t)(uintptr_t)first);
}

/* One try to push onto a list without marks. False: use cross_push_slowly. */
static ALWAYS_INLINE bool cross_push(cross_list *list, char *origin, void *object, uint64_t key) {
    uint32_t old = atomic_load_explicit(list, memory_order_relaxed) & ~CROSS_MARKS;
    char *first = cross_first(origin, old);
    /* now: then the link is made in the register of `first` */
    uint32_t new = half_computed_now(cross_pushed(old, first, object));
    link_write(object, first, key);
    /* [CL1] release: the link, and the freeing thread's last use of the object; pairs [CL3] [CL5] [RR6];
     * client cross_push_drain */
    return atomic_compare_exchange_strong_explicit(list, &old, new, memory_order_release, memory_order_relaxed);
}

/* The general push. True: the slab was marked full, and the caller must return it to its owner. */
static inline bool cross_push_slowly(cross_list *list, char *origin, void *object, uint64_t key) {
    uint32_t old = atomic_load_explicit(list, memory_order_relaxed), new;
    do {
        char *first = cross_first(origin, old);
        if (UNLIKELY(cross_is_taken(old))) misuse(DOUBLE_FREE, object, 0); /* it has no object in use */
        link_write(object, first, key);
        new = cross_pushed(old & ~CROSS_MARKS, first, object);
        /* [CL2] release: as CL1; acquire: the owner is done with the slab's last return; pairs [CL3] [CL4]
         * [CL5] [RR6]; client cross_push_drain; kept acquire: what it orders is a relaxed word, and the
         * checker does not explore load buffering */
    } while (!atomic_compare_exchange_weak_explicit(list, &old, new, memory_order_acq_rel, memory_order_relaxed));
    if (old & CROSS_WATCHED) remote_work_note();
    return old & CROSS_FULL;
}

/* Takes all: the first object (or the origin: none) and their number. */
static inline void *cross_drain(cross_list *list, char *origin, unsigned *count) {
    *count = 0;
    if (!cross_count(list)) return origin; /* a mark stays */
    /* [CL3] pairs [CL1] [CL2]; client cross_push_drain */
    uint32_t old = atomic_exchange_explicit(list, 0, memory_order_acquire);
    *count = cross_count_of(old);
    return cross_first(origin, old);
}

/* False: objects have come back meanwhile. */
static inline bool cross_mark_full(cross_list *list) {
    uint32_t expected = 0;
    /* [CL4] release: done with the slab's last return; pairs [CL2]; kept: as CL2 */
    return atomic_compare_exchange_strong_explicit(list, &expected, CROSS_FULL, memory_order_release,
                                                   memory_order_relaxed);
}

#endif
