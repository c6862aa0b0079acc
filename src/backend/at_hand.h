/* at_hand.h - freed ranges of large objects that stay at hand for the next ones of the thread that freed them.
 *
 *   slot   | 31..25 zero | 24 old | 23..0 range, 0: none |       a few of each class of ranges, in each heap
 *
 *   0 -> range            put       the heap's thread                                        [AH1] release
 *   range, any -> 0       take      the heap's thread                                        relaxed: it has put it
 *   range -> range, old   drain     a round that finds the range for the first time          relaxed
 *   range, old -> 0       drain     the next round: gives its pages back                     [AH3] acquire
 *   range, any -> 0       drain     a purge; the heap's thread at its end: frees it          [AH2] acquire
 *
 * A range at hand is held: its leaf word is HELD, so that a second free finds no large object. Only the heap's thread
 * puts, so a slot that this thread has seen empty stays empty until it puts. Where a thread takes a range, its
 * exchange decides between it and the rounds.
 *
 *   drained   granules that drains have taken, ever: only grows. The heap's thread learns from it what it has no more
 *
 * Invariant: a range is in one slot, or in the hands of one thread, or a live object's, or placed.
 * Progress: take is wait-free. A put is lock-free: it may free the range to the Nest, wake the reclamation thread, or
 * run a round that is due. docs/protocols/at-hand.md; clients at_hand_*. The hardened build has none: its quarantine
 * decides what comes back.
 */
#ifndef JW_AT_HAND_H
#define JW_AT_HAND_H

#include <stdbool.h>

#include "backend/page_map.h"
#include "backend/weights.h"
#include "config/policy.h"
#include "platform/host.h"

enum { AT_HAND_WAYS = JW_AT_HAND_WAYS, AT_HAND_SLOTS = AT_HAND_WAYS + !AT_HAND_WAYS }; /* C has no empty arrays */

#define AT_HAND_OLD (1u << 24)
_Static_assert(AT_HAND_OLD > ID_MASK, "a granule's number fits below the mark");

/* Only this file knows the bits of a slot. */
static ALWAYS_INLINE granule_id at_hand_range(uint32_t word) {
    return word & ID_MASK;
}

static inline bool at_hand_is_old(uint32_t word) {
    return word & AT_HAND_OLD;
}

static inline uint32_t at_hand_with_old(granule_id range) {
    return range | AT_HAND_OLD;
}

struct at_hand {
    _Atomic(uint32_t) slots[RANGE_CLASSES][AT_HAND_SLOTS];
    int32_t room;              /* granules that may still be put. This and the next four: for the heap's thread only */
    int32_t most;              /* the room with nothing at hand, in granules */
    int32_t quiet_room;        /* with more room than this no round is needed, in granules */
    uint32_t puts;             /* calls of put that found room */
    uint32_t drained_seen;     /* `drained` at the last look */
    _Atomic(uint32_t) drained; /* granules that drains have taken */
};

#if JW_HOSTED
#define at_hand_mine ((struct at_hand *)NULL)
static inline void at_hand_enter(struct at_hand *at_hand) {
    (void)at_hand;
}
#else
/* The calling thread's; NULL: it has no heap. */
extern _Thread_local struct at_hand *at_hand_mine HIDDEN __attribute__((tls_model("initial-exec")));

/* Makes it the calling thread's. */
void at_hand_enter(struct at_hand *at_hand);
#endif

/* Keeps a held range, or frees it where there is no room. `at_hand`: the caller's, or of a heap without a thread. */
void at_hand_put(struct at_hand *at_hand, granule_id range, uint32_t weight);

/* Takes a range of the weight, or of the next one that is there; 0: none. It is held, and may have memory. */
granule_id at_hand_take_larger(uint32_t weight);

/* Gives back what no thread has used since the last round; `now`: frees all. By any thread. True: ranges remain for the
 * next round. */
bool at_hand_drain(struct at_hand *at_hand, bool now);

/* Granules at hand. */
size_t at_hand_granules(struct at_hand *at_hand);

/* Forgets the other threads, which the child of a fork does not have. */
void at_hand_after_fork(void);

/* Takes a held range for so many granules, of the class that fits, which the calling thread has put; 0: none. */
static ALWAYS_INLINE granule_id at_hand_take(struct at_hand *at_hand, uint32_t granules) {
    _Atomic(uint32_t) *slot = at_hand->slots[class_of_weight(granules)];
    for (_Atomic(uint32_t) *end = slot + AT_HAND_WAYS; slot < end; slot++) {
        if (atomic_load_explicit(slot, memory_order_relaxed) == 0) continue;
        /* relaxed: the thread finds what it has put itself */
        granule_id range = at_hand_range(atomic_exchange_explicit(slot, 0, memory_order_relaxed));
        if (range == 0) continue;
        at_hand->room += (int32_t)weight_round_up(granules);
        return range;
    }
    return 0;
}

#endif
