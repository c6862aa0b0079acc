/* mid_word.c - the transitions of a mid slab's word that no hit path needs. */
#include "midend/mid_word.h"

#include "platform/assert.h"

/* Returns the word after the object is given out. `hold`: the slab is held from then on, unless it is full. */
static struct mid_word mid_allocated(struct mid_word word, uint32_t bit, bool hold) {
    uint32_t rest = word.raw & ~(bit | MID_SEEN | MID_GIVEN_BACK);
    return rest & MID_FREE_BITS ? (struct mid_word){rest | (hold ? MID_HELD : 0)} : mid_full();
}

/* Returns the word after the holder has left the slab. */
static struct mid_word mid_left(struct mid_word word) {
    return word.raw & MID_FREE_BITS ? (struct mid_word){word.raw & ~MID_HELD} : mid_full();
}

uint32_t mid_word_allocate(struct mid_state *state, bool hold, struct mid_word *now) {
    struct mid_word word = mid_word_get(state);
    uint32_t index;
    do {
        invariant(!mid_is_held(word) && mid_is_listed(word) && mid_free_bits(word));
        index = mid_choose(mid_free_bits(word));
        *now = mid_allocated(word, 1u << index, hold);
        /* [MW2] acquire: the object's last user is done with it; release: the slab's words, for threads that free into
         * the full slab; pairs [MW3]; clients midend_claim_deferred midend_full_words */
    } while (!atomic_compare_exchange_weak_explicit(&state->raw, &word.raw, now->raw, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return index;
}

bool mid_word_free(struct mid_state *state, uint32_t bit, struct mid_word *word) {
    struct mid_word now;
    do {
        if (mid_has_free(*word, bit)) return false;
        now = mid_freed(*word, bit);
        /* [MW3] release: the object's last use; acquire: the slab's words, from the thread that filled it; pairs
         * [MW1] [MW2] [MH1] [MH2]; clients midend_free_allocate midend_full_words */
    } while (!atomic_compare_exchange_weak_explicit(&state->raw, &word->raw, now.raw, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return true;
}

struct mid_word mid_word_leave(struct mid_state *state) {
    struct mid_word word = mid_word_get(state), now;
    do {
        invariant(mid_is_held(word) && mid_is_listed(word));
        now = mid_left(word);
        /* relaxed: since MW2 the holder has changed no other word of the slab; placing publishes its frees */
    } while (!atomic_compare_exchange_weak_explicit(&state->raw, &word.raw, now.raw, memory_order_relaxed,
                                                    memory_order_relaxed));
    return now;
}

bool mid_word_mark(struct mid_state *state, struct mid_word word, bool discarded) {
    uint32_t marked = word.raw | (discarded ? MID_GIVEN_BACK : MID_SEEN);
    /* relaxed: only rounds ask for these bits */
    return atomic_compare_exchange_strong_explicit(&state->raw, &word.raw, marked, memory_order_relaxed,
                                                   memory_order_relaxed);
}

void mid_word_make(struct mid_state *state, uint32_t all) {
    atomic_store_explicit(&state->raw, mid_empty(all).raw, memory_order_relaxed);
}

void mid_word_retire(struct mid_state *state) {
    atomic_store_explicit(&state->raw, mid_full().raw, memory_order_relaxed);
}
