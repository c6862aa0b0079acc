/* trailer.h - the last eight bytes of every object in the hardened build: the object's length, and a code that an
 * overflow destroys and that an attacker cannot compute.
 *
 *   trailer   | code | state: 2 bits | payload | 15..8 zero | 7..0 canary |
 *   payload   slots below BACKEND_MIN: | 20..5 slack | 4..1 memory tag | 0 guarded |
 *             others: | 30..1 slack | 0 guarded |
 *   slack     bytes between the request's end and the trailer
 *   canary    of the address, never 0: the final 0 of a string that is one byte too long changes it. The byte behind it
 *             is 0: a string without an end ends there, before the code
 *   code      of SipHash-1-3 (siphash.h) of the address with the process's secret of 128 bits, mixed
 *             with the payload: LIVE has the upper bits, FREED others. So a word tells nothing about the secret or
 *             another address
 *
 *   state     left by
 *   LIVE      free, by compare-exchange: of two threads only one goes on; the payload stays
 *   FREED     malloc
 *
 * The thread that frees the object behind the trailer reads the word relaxed; both states are right then. It looks at
 * what needs no hash: the canary, the zero byte and the payload's bound.
 */
#ifndef JW_TRAILER_H
#define JW_TRAILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mixed.h"
#include "base/siphash.h"
#include "config/geometry.h"
#include "hardened/secret.h"

typedef _Atomic(uint64_t) trailer_word;
enum trailer_state { BROKEN, LIVE, FREED };
enum { PAYLOAD_SHIFT = 16, PAYLOAD_GUARDED = 1, PAYLOAD_TAG_SHIFT = 1, TAG_MASK = 15 };
enum { SHORT_PAYLOAD = 21, SHORT_SLACK_SHIFT = 5, LONG_PAYLOAD = 31, LONG_SLACK_SHIFT = 1, SLACK_MOST = (1 << 30) - 1 };
enum { TRAILER_SIZE = 8 };

_Static_assert(BACKEND_MIN - 1 <= UINT32_MAX >> (32 - (SHORT_PAYLOAD - SHORT_SLACK_SHIFT)), "a short slack fits");
_Static_assert(TAG_MASK << PAYLOAD_TAG_SHIFT < 1 << SHORT_SLACK_SHIFT && PAYLOAD_GUARDED < 1 << PAYLOAD_TAG_SHIFT &&
                   PAYLOAD_GUARDED < 1 << LONG_SLACK_SHIFT,
               "flag, tag and slack do not overlap");
_Static_assert((uint64_t)SLACK_MOST << LONG_SLACK_SHIFT < (uint64_t)1 << LONG_PAYLOAD, "a long slack fits");
_Static_assert(PAYLOAD_SHIFT + LONG_PAYLOAD + 2 < 64 && SHORT_PAYLOAD <= LONG_PAYLOAD,
               "a code is left above the state");

static inline trailer_word *trailer_of(const char *object, size_t slot) {
    return (trailer_word *)(object + slot - TRAILER_SIZE);
}

/* The values from which both words of an object, LIVE and FREED, are made. */
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
    uint64_t hash = sip_of(&secrets.trailer, (uintptr_t)object, 7);
    return (struct trailer){hash, payload, address_byte(object), (uint8_t)payload_bits(slot)};
}

static ALWAYS_INLINE uint64_t trailer_made(struct trailer trailer, enum trailer_state state) {
    uint64_t told = (uint64_t)trailer.payload | (uint64_t)state << trailer.bits;
    uint64_t mix = mixed(trailer.hash ^ trailer.payload); /* once for both states */
    if (state == FREED) mix = mix << 32 | mix >> 32;
    uint64_t code = mix & ~(uint64_t)0 << (PAYLOAD_SHIFT + trailer.bits + 2);
    return code | told << PAYLOAD_SHIFT | trailer.canary;
}

/* The payload that a word tells, right or not. */
static ALWAYS_INLINE uint32_t trailer_payload(uint64_t word, size_t slot) {
    return (uint32_t)(word >> PAYLOAD_SHIFT) & ((1u << payload_bits(slot)) - 1);
}

/* The trailer of the word's payload. */
static ALWAYS_INLINE struct trailer trailer_told(const void *object, size_t slot, uint64_t word) {
    return trailer_for(object, slot, trailer_payload(word, slot));
}

/* Decodes a word: BROKEN, or a state. *trailer is the one of the word's payload. */
static ALWAYS_INLINE enum trailer_state trailer_read(const void *object, size_t slot, uint64_t word,
                                                     struct trailer *trailer) {
    *trailer = trailer_told(object, slot, word);
    if (LIKELY(word == trailer_made(*trailer, LIVE))) return LIVE;
    return word == trailer_made(*trailer, FREED) ? FREED : BROKEN;
}

/* Whether the word may be the trailer of the object. Needs no hash. */
static ALWAYS_INLINE bool trailer_may_be(const void *object, size_t slot, uint64_t word) {
    uint32_t slack = trailer_payload(word, slot) >> slack_shift(slot);
    return (uint16_t)word == address_byte(object) && slack <= slot - TRAILER_SIZE;
}

#endif
