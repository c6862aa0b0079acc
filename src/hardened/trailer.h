/* trailer.h - the last eight bytes of every object in the hardened build: the object's length, and a code that an
 * overflow destroys and that an attacker cannot compute.
 *
 *   trailer   | code | state: 2 bits | payload | 15..8 zero | 7..0 canary |
 *   payload   slots below BACKEND_MIN: | 20..5 slack | 4..1 memory tag | 0 guarded |
 *             others: | 30..1 slack | 0 guarded |
 *   slack     bytes between the request's end and the trailer
 *   canary    of the place, never 0: the final 0 of a string that is one byte too long changes it. The byte behind it
 *             is 0: a string without an end ends there, before the code
 *   code      of the place's hash, SipHash-1-3 (siphash.h) of the address with the process's secret of 128 bits, mixed
 *             with payload and state. So a word tells nothing about the secret or another address
 *
 *   state     left by
 *   LIVE      free, by compare-exchange: of two threads only one goes on; the payload stays
 *   FREE      malloc
 *
 * The thread that frees the object behind the trailer reads the word relaxed; both states are right then. It looks at
 * what needs no hash: the canary, the zero byte and the payload's bound.
 */
#ifndef JW_TRAILER_H
#define JW_TRAILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mixed.h"
#include "base/siphash.h"
#include "config/geometry.h"
#include "hardened/secret.h"

typedef _Atomic(uint64_t) trailer_word;
enum trailer_state { BROKEN, LIVE, FREED };
enum { PAYLOAD_SHIFT = 16, PAYLOAD_GUARDED = 1, PAYLOAD_TAG_SHIFT = 1, TAG_MASK = 15 };
enum { SHORT_PAYLOAD = 21, SHORT_SLACK_SHIFT = 5, LONG_PAYLOAD = 31, LONG_SLACK_SHIFT = 1, SLACK_MOST = (1 << 30) - 1 };
enum { TRAILER_SIZE = 8, FILLED_MOST = 32 /* bytes behind the request's end that are checked */ };

static inline trailer_word *trailer_of(const char *object, size_t slot) {
    return (trailer_word *)(object + slot - TRAILER_SIZE);
}

/* The values from which both words of an object, LIVE and FREE, are made. */
struct trailer {
    uint64_t hash; /* of the address */
    uint32_t payload;
    uint8_t canary, bits; /* of the payload */
};

static ALWAYS_INLINE unsigned payload_bits(size_t slot) {
    return slot < BACKEND_MIN ? SHORT_PAYLOAD : LONG_PAYLOAD;
}

static ALWAYS_INLINE unsigned slack_shift(size_t slot) {
    return slot < BACKEND_MIN ? SHORT_SLACK_SHIFT : LONG_SLACK_SHIFT;
}

/* What the words of an address have in common. */
static ALWAYS_INLINE struct trailer trailer_for(const void *object, size_t slot, uint32_t payload) {
    uint64_t hash = siphash(secrets.trailer, (uintptr_t)object, 7);
    return (struct trailer){hash, payload, place_byte(object), (uint8_t)payload_bits(slot)};
}

static ALWAYS_INLINE uint64_t trailer_made(struct trailer trailer, enum trailer_state state) {
    uint64_t told = (uint64_t)trailer.payload | (uint64_t)state << trailer.bits;
    uint64_t code = mixed(trailer.hash ^ told) & ~(uint64_t)0 << (PAYLOAD_SHIFT + trailer.bits + 2);
    return code | told << PAYLOAD_SHIFT | trailer.canary;
}

/* The payload that a word tells, right or not. */
static ALWAYS_INLINE uint32_t trailer_payload(uint64_t word, size_t slot) {
    return (uint32_t)(word >> PAYLOAD_SHIFT) & ((1u << payload_bits(slot)) - 1);
}

/* Decodes a word: BROKEN, or a state. *trailer is the one of the word's payload. */
static ALWAYS_INLINE enum trailer_state trailer_read(const void *object, size_t slot, uint64_t word,
                                                     struct trailer *trailer) {
    enum trailer_state state = (enum trailer_state)(word >> (PAYLOAD_SHIFT + payload_bits(slot)) & 3);
    *trailer = trailer_for(object, slot, trailer_payload(word, slot));
    return (state == LIVE || state == FREED) && word == trailer_made(*trailer, state) ? state : BROKEN;
}

/* Whether the word may be the trailer of the object. Needs no hash. */
static ALWAYS_INLINE bool trailer_may_be(const void *object, size_t slot, uint64_t word) {
    uint32_t slack = trailer_payload(word, slot) >> slack_shift(slot);
    return (uint16_t)word == place_byte(object) && slack <= slot - TRAILER_SIZE;
}

/* The slack ends at a multiple of eight. Its first bytes are filled: the rest of the word where the request ends, and
 * some whole words. Little-endian processors only. */
static ALWAYS_INLINE size_t filled(size_t slack) {
    return slack < FILLED_MOST ? slack : FILLED_MOST - 8 + slack % 8;
}

static ALWAYS_INLINE uint64_t slack_mask(size_t slack) {
    return slack % 8 ? ~(uint64_t)0 << (64 - slack % 8 * 8) : 0;
}

typedef uint64_t __attribute__((may_alias)) filled_word;

static ALWAYS_INLINE void slack_fill(char *end, size_t slack, uint8_t with) {
    const uint64_t eight = with * 0x0101010101010101u, mask = slack_mask(slack);
    filled_word *word = (filled_word *)(end + slack % 8), *last = word + filled(slack) / 8;
    if (mask) word[-1] = (word[-1] & ~mask) | (eight & mask);
    for (; word < last; word++) *word = eight;
}

static ALWAYS_INLINE bool slack_is_filled(const char *end, size_t slack, uint8_t with) {
    const uint64_t eight = with * 0x0101010101010101u, mask = slack_mask(slack);
    const filled_word *word = (const filled_word *)(end + slack % 8), *last = word + filled(slack) / 8;
    uint64_t different = mask ? (word[-1] ^ eight) & mask : 0;
    for (; word < last; word++) different |= *word ^ eight;
    return different == 0;
}

/* Number of the first bytes, of `size`, that still have their fill. */
static inline size_t fill_left(const char *from, size_t size, uint8_t with) {
    size_t left = 0;
    while (left < size && (uint8_t)from[left] == with) left++;
    return left;
}

typedef uint64_t __attribute__((vector_size(16), may_alias, aligned(8))) filled_pair;

/* Whether all bytes are zero: `from` and `size` are multiples of eight. */
static ALWAYS_INLINE bool is_zero(const char *from, size_t size) {
    const char *end = from + size;
    uint64_t words = 0;
    if (size < 2 * sizeof(filled_pair)) {
        for (; from < end; from += sizeof words) words |= *(const filled_word *)from;
        return words == 0;
    }
    const filled_pair *last = (const filled_pair *)(end - 2 * sizeof(filled_pair));
    filled_pair sum = last[0] | last[1]; /* may overlap what the loop reads */
    for (const filled_pair *pair = (const filled_pair *)from; pair < last; pair += 2) sum |= pair[0] | pair[1];
    return (sum[0] | sum[1]) == 0;
}

#endif
