/* mid_word.h - the state of a mid slab: a word in the link table, at the slab's second granule: no range begins there.
 *
 *   word   | 31 held | 30 listed | 29 given back | 28 seen | 27..0 one bit an object: free |
 *
 * midend.h has the states, and which thread changes the word from which to which. Only this file knows the bits. The
 * orders stand where the word is changed (midend.c, mid_cache.c, midend_round.c), but for the two transitions of the
 * hit paths.
 */
#ifndef JW_MID_WORD_H
#define JW_MID_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/page_map.h"

struct mid_word {
    uint32_t raw;
};

struct mid_state {
    record_word raw;
};

#define MID_HELD (1u << 31)
#define MID_LISTED (1u << 30)
#define MID_GIVEN_BACK (1u << 29)
#define MID_SEEN (1u << 28)
#define MID_FREE_BITS 0x0fffffffu

_Static_assert((MID_HELD | MID_LISTED | MID_GIVEN_BACK | MID_SEEN) == ~MID_FREE_BITS, "the parts do not overlap");
_Static_assert(sizeof(struct mid_state) == sizeof(record_word), "the state is a word of the table");

static ALWAYS_INLINE struct mid_state *mid_state_at(granule_id slab) {
    return (struct mid_state *)mid_word_at(slab);
}

static ALWAYS_INLINE uint32_t mid_free_bits(struct mid_word word) {
    return word.raw & MID_FREE_BITS;
}

/* Whether the object of that bit is free. */
static ALWAYS_INLINE bool mid_has_free(struct mid_word word, uint32_t bit) {
    return word.raw & bit;
}

static inline bool mid_is_held(struct mid_word word) {
    return word.raw & MID_HELD;
}

static inline bool mid_is_listed(struct mid_word word) {
    return word.raw & MID_LISTED;
}

static inline bool mid_is_given_back(struct mid_word word) {
    return word.raw & MID_GIVEN_BACK;
}

static inline bool mid_is_seen(struct mid_word word) {
    return word.raw & MID_SEEN;
}

/* `all`: the bits of the objects that the slab has. */
static inline struct mid_word mid_empty(uint32_t all) {
    return (struct mid_word){MID_LISTED | all};
}

static inline bool mid_is_empty(struct mid_word word, uint32_t all) {
    return word.raw == (MID_LISTED | all);
}

static inline struct mid_word mid_full(void) {
    return (struct mid_word){0};
}

/* After the object is given out; `held`: the slab is held from then on, unless it is full. */
static inline struct mid_word mid_claimed(struct mid_word word, uint32_t bit, bool held) {
    uint32_t rest = word.raw & ~(bit | MID_SEEN | MID_GIVEN_BACK);
    return rest & MID_FREE_BITS ? (struct mid_word){rest | (held ? MID_HELD : 0)} : mid_full();
}

/* After the object is freed. */
static inline struct mid_word mid_freed(struct mid_word word, uint32_t bit) {
    return (struct mid_word){(word.raw & ~(MID_SEEN | MID_GIVEN_BACK)) | bit | MID_LISTED};
}

/* After its holder has left the slab. */
static inline struct mid_word mid_left(struct mid_word word) {
    return word.raw & MID_FREE_BITS ? (struct mid_word){word.raw & ~MID_HELD} : mid_full();
}

/* After a round has looked at the slab; `discarded`: and given its free pages back. */
static inline struct mid_word mid_looked_at(struct mid_word word, bool discarded) {
    return (struct mid_word){word.raw | (discarded ? MID_GIVEN_BACK : MID_SEEN)};
}

static ALWAYS_INLINE struct mid_word mid_word_load(const struct mid_state *state, memory_order order) {
    return (struct mid_word){atomic_load_explicit(&state->raw, order)};
}

static ALWAYS_INLINE struct mid_word mid_word_get(const struct mid_state *state) {
    return mid_word_load(state, memory_order_relaxed);
}

static inline void mid_word_set(struct mid_state *state, struct mid_word word) {
    atomic_store_explicit(&state->raw, word.raw, memory_order_relaxed);
}

/* Compare-exchanges; where they fail, *from is what the word was. The weak one may fail without a reason. */
static ALWAYS_INLINE bool mid_word_change(struct mid_state *state, struct mid_word *from, struct mid_word to,
                                          memory_order order) {
    return atomic_compare_exchange_strong_explicit(&state->raw, &from->raw, to.raw, order, memory_order_relaxed);
}

static ALWAYS_INLINE bool mid_word_change_weak(struct mid_state *state, struct mid_word *from, struct mid_word to,
                                               memory_order order) {
    return atomic_compare_exchange_weak_explicit(&state->raw, &from->raw, to.raw, order, memory_order_relaxed);
}

/* The hit path of malloc: gives out an object of the held slab. Its bit is set: only the holder clears any. */
static ALWAYS_INLINE void mid_word_claim_held(struct mid_state *state, uint32_t bit) {
    /* [MH1] acquire: the object's last user is done with it; pairs [MW3]; client mid_cache_freed */
    atomic_fetch_xor_explicit(&state->raw, bit, memory_order_acquire);
}

/* The hit path of free: an object of the held slab. False where it was free already. */
static ALWAYS_INLINE bool mid_word_free_held(struct mid_state *state, uint32_t bit) {
    /* relaxed: the next user is the holder itself, or comes after the holder has let go */
    return !(atomic_fetch_or_explicit(&state->raw, bit, memory_order_relaxed) & bit);
}

#endif
