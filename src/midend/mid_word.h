/* mid_word.h - the state of a mid slab: a word in the link table, at the slab's second granule: no range begins there.
 *
 *   word   | 31 held | 30 listed | 29 given back | 28 seen | 27..0 one bit an object: free |
 *
 *   transition              by                                    the word
 *   mid_word_allocate       the thread that has the slab out of   bit = seen = given back = 0; held = 1, if that thread
 *                           the Nest                              will hold the slab. No bit left: 0
 *   mid_word_allocate_held  the holder: the hit path of malloc    bit = 0
 *   mid_word_allocate_all   a round that is in the hold           each bit = 0
 *   mid_word_free           any thread                            bit = listed = 1, seen = given back = 0
 *   mid_word_free_held      the holder: the hit path of free      bit = 1
 *   mid_word_leave          the holder, or a round in its place   held = 0. No bit left: 0
 *   mid_word_mark           a round that has the slab out of the  seen = 1, or given back = 1
 *                           Nest
 *   mid_word_make           the thread that makes the slab        listed = 1, each object's bit = 1
 *   mid_word_retire         the thread that gives its range back  0
 *
 * midend.h has the states of a slab, which are made of these. Only this file and mid_word.c know the bits. Inline are
 * the two hit paths and what reads a value. Progress: lock-free, and wait-free where the step is one operation.
 */
#ifndef JW_MID_WORD_H
#define JW_MID_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/page_map.h"
#include "base/mitigations.h"
#include "platform/random.h"

struct mid_word {
    uint32_t raw;
};

struct mid_state {
    table_word raw;
};

#define MID_HELD (1u << 31)
#define MID_LISTED (1u << 30)
#define MID_GIVEN_BACK (1u << 29)
#define MID_SEEN (1u << 28)
#define MID_FREE_BITS 0x0fffffffu

_Static_assert((MID_HELD | MID_LISTED | MID_GIVEN_BACK | MID_SEEN) == ~MID_FREE_BITS, "the parts do not overlap");
_Static_assert(sizeof(struct mid_state) == sizeof(table_word), "the state is a word of the table");

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

static inline bool mid_is_empty(struct mid_word word, uint32_t all) {
    return word.raw == (MID_LISTED | all);
}

/* `all`: the bits of the objects that the slab has. */
static inline struct mid_word mid_empty(uint32_t all) {
    return (struct mid_word){MID_LISTED | all};
}

static inline struct mid_word mid_full(void) {
    return (struct mid_word){0};
}

/* The number of the object that is given out: the first free one, or in the hardened build any. */
static ALWAYS_INLINE uint32_t mid_choose(uint32_t bits) {
    uint32_t passed = RANDOM_ORDER ? random_less((uint32_t)__builtin_popcount(bits)) : 0;
    for (; passed > 0; passed--) bits &= bits - 1;
    return (uint32_t)__builtin_ctz(bits);
}

/* Returns the word after the object is freed. */
static inline struct mid_word mid_freed(struct mid_word word, uint32_t bit) {
    return (struct mid_word){(word.raw & ~(MID_SEEN | MID_GIVEN_BACK)) | bit | MID_LISTED};
}

static ALWAYS_INLINE struct mid_word mid_word_get(const struct mid_state *state) {
    return (struct mid_word){atomic_load_explicit(&state->raw, memory_order_relaxed)};
}

/* Rounds note in a cache how they have left the word of the held slab: a hint. */
static inline void mid_word_note(struct mid_state *note, struct mid_word word) {
    atomic_store_explicit(&note->raw, word.raw, memory_order_relaxed);
}

static inline bool mid_same(struct mid_word one, struct mid_word other) {
    return one.raw == other.raw;
}

/* Reads the word of a slab that the caller has just taken out of the Nest. */
static inline struct mid_word mid_word_get_taken(const struct mid_state *state) {
    /* [MW1] acquire: the objects' last uses come before their pages' discarding, or the range's next; pairs [MW3];
     * clients midend_trim midend_discard midend_discard_last */
    return (struct mid_word){atomic_load_explicit(&state->raw, memory_order_acquire)};
}

/* Allocates an object of the held slab. False: a round has just allocated all. */
static ALWAYS_INLINE bool mid_word_allocate_held(struct mid_state *state, uint32_t bit) {
    /* [MH1] acquire: the object's last user is done with it; pairs [MW3]; client mid_cache_freed */
    return atomic_fetch_and_explicit(&state->raw, ~bit, memory_order_acquire) & bit;
}

/* Allocates all free objects of a slab in whose hold the calling round is. Returns their bits. */
static inline uint32_t mid_word_allocate_all(struct mid_state *state) {
    /* [MH2] acquire: the objects' last users are done with them; pairs [MW3] [MH3]; client mid_cache_held_round */
    return atomic_fetch_and_explicit(&state->raw, ~MID_FREE_BITS, memory_order_acquire) & MID_FREE_BITS;
}

/* Frees an object of the held slab. False: it was free already. */
static ALWAYS_INLINE bool mid_word_free_held(struct mid_state *state, uint32_t bit) {
    /* [MH3] release: the object's last use; pairs [MH2]; client mid_cache_held_round */
    return !(atomic_fetch_or_explicit(&state->raw, bit, memory_order_release) & bit);
}

/* Allocates an object of a slab that the caller has out of the Nest; `hold`: the caller will hold the slab. Returns the
 * object's number. *now: the word after that. */
uint32_t mid_word_allocate(struct mid_state *state, bool hold, struct mid_word *now);

/* Frees an object. *word: on call, the word as last read; on return, the word just before the free. False: the object
 * was free already. */
bool mid_word_free(struct mid_state *state, uint32_t bit, struct mid_word *word);

/* The holder leaves the slab to all threads. Returns the word after that. */
struct mid_word mid_word_leave(struct mid_state *state);

/* Notes that a round has looked at a slab that it has out of the Nest; `discarded`: and given its free pages back.
 * `word`: as mid_word_get_taken has read it. False: an object was freed since then, and nothing is noted. */
bool mid_word_mark(struct mid_state *state, struct mid_word word, bool discarded);

/* Begins the word of a slab that no other thread knows yet. `all`: the bits of the objects that it has. */
void mid_word_make(struct mid_state *state, uint32_t all);

/* Ends the word of a slab that no other thread can know. */
void mid_word_retire(struct mid_state *state);

#endif
