/* fill_words.h - the fill behind an object, written and compared by whole words, and memory that should be zero. */
#ifndef JW_FILL_WORDS_H
#define JW_FILL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/policy.h"

_Static_assert(FILLED_MOST > 0 && FILLED_MOST % sizeof(uint64_t) == 0, "the fill is whole words");

/* Returns how many of the slack's first bytes are filled: the rest of the word in which the request ends, and whole
 * words behind it. With the used bytes of that first word, they are at most FILLED_MOST bytes. The slack ends at a
 * multiple of 8 B. Little-endian processors only. */
static ALWAYS_INLINE size_t filled(size_t slack) {
    size_t most = FILLED_MOST - -slack % 8;
    return slack < most ? slack : most;
}

typedef uint64_t __attribute__((may_alias)) filled_word;

/* A word at any address. */
typedef uint64_t __attribute__((may_alias, aligned(1))) any_word;

static ALWAYS_INLINE any_word *any_word_at(const char *at) {
    return (any_word *)(uintptr_t)at; // NOLINT(performance-no-int-to-ptr)
}

/* A slack of less than a word: the word in which the request ends, and which of its bytes belong to the slack. No other
 * byte is written, as another thread may read the trailer behind. */
struct short_fill {
    filled_word *word;
    uint64_t mask;
};

static ALWAYS_INLINE struct short_fill short_fill_of(const char *end, size_t slack) {
    size_t used = -slack % 8;
    filled_word *word = (filled_word *)(uintptr_t)(end - used); // NOLINT(performance-no-int-to-ptr)
    return (struct short_fill){word, ~(uint64_t)0 << used * 8};
}

/* A fill of 8 to FILLED_MOST bytes is two or four words, which may overlap. */
_Static_assert(FILLED_MOST <= 4 * sizeof(uint64_t), "four words are enough");

static ALWAYS_INLINE void slack_fill(char *end, size_t slack, uint8_t with) {
    uint64_t eight = with * 0x0101010101010101u;
    if (slack < 8) {
        if (slack == 0) return;
        struct short_fill fill = short_fill_of(end, slack);
        *fill.word = (*fill.word & ~fill.mask) | (eight & fill.mask);
        return;
    }
    size_t bytes = filled(slack);
    *any_word_at(end) = *any_word_at(end + bytes - 8) = eight;
    if (bytes > 16) *any_word_at(end + 8) = *any_word_at(end + bytes - 16) = eight;
}

static ALWAYS_INLINE bool slack_is_filled(const char *end, size_t slack, uint8_t with) {
    uint64_t eight = with * 0x0101010101010101u;
    if (slack < 8) {
        if (slack == 0) return true;
        struct short_fill fill = short_fill_of(end, slack);
        return ((*fill.word ^ eight) & fill.mask) == 0;
    }
    size_t bytes = filled(slack);
    uint64_t different = (*any_word_at(end) ^ eight) | (*any_word_at(end + bytes - 8) ^ eight);
    if (bytes > 16) different |= (*any_word_at(end + 8) ^ eight) | (*any_word_at(end + bytes - 16) ^ eight);
    return different == 0;
}

/* Number of the first bytes, of `size`, that still have their fill. */
static inline size_t fill_left(const char *from, size_t size, uint8_t with) {
    size_t left = 0;
    while (left < size && (uint8_t)from[left] == with) left++;
    return left;
}

typedef uint64_t __attribute__((vector_size(16), may_alias, aligned(8))) filled_pair;

static ALWAYS_INLINE void add_two_pairs(filled_pair *sum, const char *at) {
    *sum |= ((const filled_pair *)at)[0] | ((const filled_pair *)at)[1];
}

/* Whether all bytes are zero: `from` and `size` are multiples of eight. */
static ALWAYS_INLINE bool is_zero(const char *from, size_t size) {
    enum { TWO = 2 * sizeof(filled_pair), FOUR = 2 * TWO };
    const char *end = from + size;
    if (size < TWO) {
        uint64_t words = 0;
        for (; from < end; from += sizeof words) words |= *(const filled_word *)from;
        return words == 0;
    }
    filled_pair sum = {0, 0};
    add_two_pairs(&sum, from);
    add_two_pairs(&sum, end - TWO); /* this read may overlap others, and so may the next ones */
    if (size > FOUR) {
        const char *last = end - FOUR;
        add_two_pairs(&sum, last);
        for (from += TWO; from < last; from += FOUR) {
            add_two_pairs(&sum, from);
            add_two_pairs(&sum, from + TWO);
        }
    }
    return (sum[0] | sum[1]) == 0;
}

#endif
