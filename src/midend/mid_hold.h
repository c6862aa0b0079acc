/* mid_hold.h - which mid slab a thread holds: a word of its mid cache. A round marks it busy, so that the slab stays
 * held while the round allocates what is free there (midend_round.c).
 *
 *   word   | 31..25 zero | 24 busy | 23..0 slab, 0: none |
 *
 *   transition        by            word
 *   mid_hold_begin    the holder    0 -> slab              [MO1] release: the slab's words
 *   mid_hold_enter    a round       slab -> slab, busy     [MO2] acquire: as MO1
 *   mid_hold_exit     the round     slab, busy -> slab     [MO3] release: what the round did to the slab's word
 *   mid_hold_end      the holder    slab, any -> 0         [MO4] acquire: as MO3; release: the holder's steps
 *
 * The thread whose step removes the slab from the word leaves the slab (mid_word_leave). That is the holder; or the
 * round, if it finds at its exit that the holder has ended the hold meanwhile. Only the holder begins a hold, and a
 * slab is still held while a round is busy with it. So the slab does not come back to the word meanwhile. The round is
 * busy for a few instructions, and the holder never waits for it. A fork's child whose parent had a round there loses
 * the slab.
 *
 * Invariant: while the word has a slab, that slab is held. Progress: wait-free. Clients mid_cache_held_*. */
#ifndef JW_MID_HOLD_H
#define JW_MID_HOLD_H

#include "backend/page_map.h"

struct mid_hold {
    _Atomic(uint32_t) raw;
};

#define HOLD_BUSY (1u << 24)
_Static_assert(HOLD_BUSY > ID_MASK, "a slab's number fits below the mark");

/* A hint: the slab; 0: none. */
static inline granule_id mid_hold_look(const struct mid_hold *hold) {
    return atomic_load_explicit(&hold->raw, memory_order_relaxed) & ID_MASK;
}

static inline void mid_hold_begin(struct mid_hold *hold, granule_id slab) {
    /* [MO1] release: the slab's words; pairs [MO2]; client mid_cache_held_anew */
    atomic_store_explicit(&hold->raw, slab, memory_order_release);
}

/* Returns the slab, which stays held until mid_hold_exit; 0: there is none, or another round is there. */
static inline granule_id mid_hold_enter(struct mid_hold *hold) {
    uint32_t slab = atomic_load_explicit(&hold->raw, memory_order_relaxed);
    if (slab == 0 || slab & HOLD_BUSY) return 0;
    /* [MO2] acquire: the slab's words; pairs [MO1]; client mid_cache_held_anew */
    return atomic_compare_exchange_strong_explicit(&hold->raw, &slab, slab | HOLD_BUSY, memory_order_acquire,
                                                   memory_order_relaxed)
               ? slab
               : 0;
}

/* False: the holder has ended the hold meanwhile, and the caller must leave the slab. */
static inline bool mid_hold_exit(struct mid_hold *hold, granule_id slab) {
    uint32_t busy = slab | HOLD_BUSY;
    /* [MO3] release: the slab's word; acquire: the holder's steps in it; pairs [MO4]; kept: only load buffering, which
     * the checker does not explore, could turn the order of two read-modify-writes of the slab's word */
    return atomic_compare_exchange_strong_explicit(&hold->raw, &busy, slab, memory_order_release, memory_order_acquire);
}

/* Returns the slab that the caller must leave; 0: a round will. */
static inline granule_id mid_hold_end(struct mid_hold *hold) {
    /* [MO4] acquire: the slab's word; release: the holder's steps in it; pairs [MO3]; kept: as MO3 */
    uint32_t word = atomic_exchange_explicit(&hold->raw, 0, memory_order_acq_rel);
    return word & HOLD_BUSY ? 0 : word;
}

#endif
