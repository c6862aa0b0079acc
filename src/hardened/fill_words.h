/* fill_words.h - the fill behind an object, and memory that is cleared and should stay zero: by words and by pairs of
 * words. */
#ifndef JW_FILL_WORDS_H
#define JW_FILL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/policy.h"
#include "platform/features.h"
#include "platform/instructions.h"
#include "platform/wide.h"

/* Bytes without bits, then bytes that have all. */
static const _Alignas(32) uint8_t slack_masks[32] = {[16 ... 31] = UINT8_MAX};

/* A pair at any address. */
typedef uint64_t __attribute__((vector_size(16), may_alias, aligned(1))) any_pair;

_Static_assert(FILLED_MOST == 4 * sizeof(uint64_t), "a fill is at most four words");

/* Returns how many of the slack's first bytes are filled. Little-endian processors only. */
static ALWAYS_INLINE size_t filled(size_t slack) {
    return slack < FILLED_MOST ? slack : FILLED_MOST;
}

typedef uint64_t __attribute__((may_alias)) filled_word;

/* A word at any address. */
typedef uint64_t __attribute__((may_alias, aligned(1))) any_word;

static ALWAYS_INLINE any_word *any_word_at(const char *at) {
    return (any_word *)(uintptr_t)at; // NOLINT(performance-no-int-to-ptr)
}

/* A slack of less than a word is in the last word before the trailer. No byte behind that word is written, as another
 * thread may read the trailer. */
static ALWAYS_INLINE filled_word *last_word(const char *end, size_t slack) {
    return (filled_word *)(uintptr_t)(end + slack - 8); // NOLINT(performance-no-int-to-ptr)
}

/* The word without its bytes before a slack of 0 to 7 bytes. Two shifts, as no shift is by 64 bits. */
static ALWAYS_INLINE uint64_t slack_of_word(uint64_t word, size_t slack) {
    return word >> 8 * (7 - slack) >> 8;
}

static ALWAYS_INLINE uint64_t word_of_slack(uint64_t bytes, size_t slack) {
    return bytes << 8 * (7 - slack) << 8;
}

/* A fill of 8 to FILLED_MOST bytes is two or four words, which may overlap. `fresh`: the program has no bytes before
 * the slack yet, and they may become 0. */
static ALWAYS_INLINE void slack_fill(char *end, size_t slack, uint8_t with, bool fresh) {
    uint64_t eight = with * 0x0101010101010101u;
    if (slack < 8) {
        filled_word *last = last_word(end, slack);
        uint64_t before = fresh ? 0 : *last & ~word_of_slack(~(uint64_t)0, slack);
        *last = before | word_of_slack(eight, slack);
        return;
    }
    if (slack <= 16) {
        *any_word_at(end) = *any_word_at(end + slack - 8) = eight;
        return;
    }
    size_t bytes = filled(slack);
    *any_word_at(end) = *any_word_at(end + 8) = eight;
    *any_word_at(end + bytes - 16) = *any_word_at(end + bytes - 8) = eight;
}

/* The bits that differ from the fill in two words. */
static ALWAYS_INLINE uint64_t fill_difference(const char *one, const char *other, uint64_t fill) {
    return (*any_word_at(one) ^ fill) | (*any_word_at(other) ^ fill);
}

/* Whether a filled byte has changed: not 0. */
static ALWAYS_INLINE uint64_t slack_differs(const char *end, size_t slack, uint8_t with) {
    uint64_t eight = with * 0x0101010101010101u;
    if (slack < 8) return slack_of_word(*last_word(end, slack) ^ eight, slack);
    if (slack <= 16) return fill_difference(end, end + slack - 8, eight);
    const char *last = end + filled(slack) - 8;
    return fill_difference(end, end + 8, eight) | fill_difference(last - 8, last, eight);
}

#ifdef JW_WIDE_HERE

typedef long long __attribute__((vector_size(16))) pair_bits;

/* Whether the pair has no bit of the mask. */
static ALWAYS_INLINE bool pair_is_zero(const word_pair *pair, const word_pair *mask) {
    return __builtin_ia32_ptestz128((pair_bits)*mask, (pair_bits)*pair);
}

static ALWAYS_INLINE void pair_set_bytes(word_pair *pair, uint8_t byte) {
    typedef uint8_t __attribute__((vector_size(16))) bytes;
    *pair = (word_pair)(bytes){byte, byte, byte, byte, byte, byte, byte, byte,
                               byte, byte, byte, byte, byte, byte, byte, byte};
}

#else

static ALWAYS_INLINE bool pair_is_zero(const word_pair *pair, const word_pair *mask) {
    word_pair both = *pair & *mask;
    return (both[0] | both[1]) == 0;
}

static ALWAYS_INLINE void pair_set_bytes(word_pair *pair, uint8_t byte) {
    const uint64_t eight = byte * 0x0101010101010101u;
    *pair = (word_pair){eight, eight};
}

#endif

/* Where the 16 bytes before the trailer are the object's own, a slack of at most so many bytes takes no branch. */
enum { PAIRED_MIN = 32, PAIRED_MOST = sizeof(word_pair) };

/* A mask of the slack's bytes in the 16 bytes before the trailer. */
static ALWAYS_INLINE const any_pair *slack_mask(size_t slack) {
    return (const any_pair *)&slack_masks[slack];
}

static ALWAYS_INLINE any_pair *pair_before(char *behind) {
    return (any_pair *)(behind - PAIRED_MOST);
}

/* Fills as slack_fill does for a fresh object. `behind`: the end of the slack. */
static ALWAYS_INLINE void slack_fill_paired(char *behind, size_t slack, uint8_t with) {
    word_pair fill;
    pair_set_bytes(&fill, with);
    if (LIKELY(slack <= PAIRED_MOST)) {
        *pair_before(behind) = fill & *slack_mask(slack);
    } else {
        char *from = behind - slack;
        *(any_pair *)from = *pair_before(from + filled(slack)) = fill;
    }
}

/* Compares as slack_differs does. */
static ALWAYS_INLINE bool slack_differs_paired(char *behind, size_t slack, uint8_t with) {
    word_pair differs, mask;
    pair_set_bytes(&differs, with);
    if (LIKELY(slack <= PAIRED_MOST)) {
        differs ^= *pair_before(behind);
        mask = *slack_mask(slack);
    } else {
        char *from = behind - slack;
        mask = differs = (*(any_pair *)from ^ differs) | (*pair_before(from + filled(slack)) ^ differs);
    }
    pair_computed_now(&differs); /* here both ways meet */
    return !pair_is_zero(&differs, &mask);
}

/* Number of the first bytes, of `size`, that still have their fill. */
static inline size_t fill_left(const char *from, size_t size, uint8_t with) {
    size_t left = 0;
    while (left < size && (uint8_t)from[left] == with) left++;
    return left;
}

#ifdef JW_WIDE_HERE

/* Whether all bytes but the last eight are zero, from both ends: some are read twice. `size` is a multiple of 16, and
 * so is the address. */
static ALWAYS_INLINE bool is_zero_but_last(const char *from, size_t size) {
    const char *end = from + size - sizeof(filled_word);
    if (UNLIKELY(size <= WIDE)) {
        uint64_t sum = *(const filled_word *)(end - sizeof sum);
        if (size == WIDE) sum |= ((const filled_word *)from)[0] | ((const filled_word *)from)[1];
        return sum == 0;
    }
    if (size <= 2 * WIDE) {
        if (UNLIKELY(!wide_is_zero_2(from, end))) return false;
    } else if (size <= 4 * WIDE) {
        if (UNLIKELY(!wide_is_zero_4(from, end))) return false;
    } else {
        if (UNLIKELY(!wide_is_zero_8(from, end))) return false;
        for (from += 4 * WIDE; UNLIKELY(from < end - 4 * WIDE); from += 2 * WIDE)
            if (UNLIKELY(!wide_is_zero_2(from, from + 2 * WIDE))) return false;
    }
    return true;
}

/* Clears all but the last eight bytes, as above. */
static ALWAYS_INLINE void clear_but_last(char *from, size_t size) {
    char *end = from + size - sizeof(filled_word);
    if (UNLIKELY(size <= WIDE)) {
        *(filled_word *)(end - sizeof(filled_word)) = 0;
        if (size == WIDE) ((filled_word *)from)[0] = ((filled_word *)from)[1] = 0;
    } else if (size <= 2 * WIDE) {
        wide_clear_2(from, end);
    } else if (size <= 4 * WIDE) {
        wide_clear_4(from, end);
    } else {
        wide_clear_8(from, end);
        for (from += 4 * WIDE; UNLIKELY(from < end - 4 * WIDE); from += 2 * WIDE) wide_clear_2(from, from + 2 * WIDE);
    }
}

#else

#define PAIR sizeof(word_pair)

/* What has at most so many pairs is read or cleared from both ends, some of it twice. */
enum { FEW_PAIRS = 4 * PAIR, MORE_PAIRS = 9 * PAIR, MANY_PAIRS = 17 * PAIR };

/* Adds the bits of a pair by one instruction, whose operand is in memory. */
static ALWAYS_INLINE void add_pair(word_pair *sum, const word_pair *at) {
    *sum |= *at;
    pair_computed_now(sum);
}

static ALWAYS_INLINE void add_four(word_pair *sum, const word_pair *at) {
    add_pair(sum, &at[0]);
    add_pair(sum, &at[1]);
    add_pair(sum, &at[2]);
    add_pair(sum, &at[3]);
}

/* Whether all bytes but the last eight are zero. `size` is a multiple of 16, and so is the address. */
static ALWAYS_INLINE bool is_zero_but_last(const char *from, size_t size) {
    const word_pair *at = (const word_pair *)from, *last = (const word_pair *)(from + size) - 1;
    word_pair sum = {*(const filled_word *)last, 0};
    if (size > FEW_PAIRS) {
        add_four(&sum, last - 4);
        add_four(&sum, at);
        if (size > MORE_PAIRS) {
            add_four(&sum, last - 8);
            add_four(&sum, at + 4);
            if (UNLIKELY(size > MANY_PAIRS))
                for (at += 8; at < last - 8; at += 4) add_four(&sum, at);
        }
    } else {
        if (size > PAIR) sum |= at[0];
        if (size > 2 * PAIR) sum |= at[1] | last[-1];
    }
    pair_computed_now(&sum); /* here all ways meet */
    return (sum[0] | sum[1]) == 0;
}

static ALWAYS_INLINE void clear_four(word_pair *at) {
    const word_pair zero = {0, 0};
    at[0] = at[1] = at[2] = at[3] = zero;
}

/* Clears all but the last eight bytes, as above. */
static ALWAYS_INLINE void clear_but_last(char *from, size_t size) {
    word_pair *at = (word_pair *)from, *last = (word_pair *)(from + size) - 1;
    const word_pair zero = {0, 0};
    *(filled_word *)last = 0;
    if (size > FEW_PAIRS) {
        clear_four(last - 4);
        clear_four(at);
        if (size > MORE_PAIRS) {
            clear_four(last - 8);
            clear_four(at + 4);
            if (UNLIKELY(size > MANY_PAIRS))
                for (at += 8; at < last - 8; at += 4) clear_four(at);
        }
    } else {
        if (size > PAIR) at[0] = zero;
        if (size > 2 * PAIR) at[1] = last[-1] = zero;
    }
}

#endif

#endif
