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

/* The words of the fill, and which bytes of the first one belong to it. */
struct fill {
    filled_word *word, *last;
    uint64_t eight, mask;
};

static ALWAYS_INLINE struct fill fill_of(const char *end, size_t slack, uint8_t with) {
    size_t used = -slack % 8, words = (slack + used) / 8;
    filled_word *word = (filled_word *)(uintptr_t)(end - used); // NOLINT(performance-no-int-to-ptr)
    return (struct fill){word, word + (words < FILLED_MOST / 8 ? words : FILLED_MOST / 8), with * 0x0101010101010101u,
                         ~(uint64_t)0 << used * 8};
}

static ALWAYS_INLINE void slack_fill(char *end, size_t slack, uint8_t with) {
    if (slack == 0) return;
    struct fill fill = fill_of(end, slack, with);
    *fill.word = (*fill.word & ~fill.mask) | (fill.eight & fill.mask);
    while (++fill.word < fill.last) *fill.word = fill.eight;
}

static ALWAYS_INLINE bool slack_is_filled(const char *end, size_t slack, uint8_t with) {
    if (slack == 0) return true;
    struct fill fill = fill_of(end, slack, with);
    uint64_t different = (*fill.word ^ fill.eight) & fill.mask;
    while (++fill.word < fill.last) different |= *fill.word ^ fill.eight;
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
