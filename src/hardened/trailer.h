/* trailer.h - the last eight bytes of every object in the hardened build: the object's length, and a code that an
 * overflow destroys. No attack is known that computes it without the secret.
 *
 *   trailer   | code | state: 2 bits | payload | 15..8 zero | 7..0 canary |
 *   payload   slots below BACKEND_MIN: | 20..5 slack | 4..1 memory tag | 0 guarded |
 *             others: | 30..1 slack | 0 guarded |
 *   slack     bytes between the request's end and the trailer; 0 of a FREED object
 *   canary    of the address, never 0: the final 0 of a string that is one byte too long changes it. The byte behind it
 *             is 0: a string without an end ends there, before the code
 *   code      of factor * payload + addend, which are 128 bits of a keyed function of the address (secret.h): LIVE has
 *             the top bits, FREED lower ones. No attack is known by which a word tells of the secrets, of another
 *             address or of the other state
 *
 *   state     left by
 *   LIVE      free, by compare-exchange: of two threads only one goes on; of the payload the tag stays
 *   FREED     malloc
 *
 * The thread that frees the object behind the trailer reads the word relaxed; both states are right then. It looks at
 * what needs no code: the canary, the zero byte and the payload's bound.
 */
#ifndef JW_TRAILER_H
#define JW_TRAILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mitigations.h"
#include "config/geometry.h"
#include "hardened/secret.h"
#include "platform/features.h"
#include "platform/instructions.h"

typedef _Atomic(uint64_t) trailer_word;
enum trailer_state { BROKEN, LIVE, FREED };
enum { PAYLOAD_SHIFT = 16, PAYLOAD_GUARDED = 1, PAYLOAD_TAG_SHIFT = 1, TAG_MASK = 15 };
enum { SHORT_PAYLOAD = 21, SHORT_SLACK_SHIFT = 5, LONG_PAYLOAD = 31, LONG_SLACK_SHIFT = 1, SLACK_MOST = (1 << 30) - 1 };
enum { TRAILER_SIZE = 8, FREED_SHIFT = 24 };

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
    struct keyed keyed; /* of the address */
    uint64_t payload, canary;
    unsigned bits; /* of the payload */
};

static ALWAYS_INLINE unsigned payload_bits(size_t slot) {
    return slot < BACKEND_MIN ? SHORT_PAYLOAD : LONG_PAYLOAD;
}

static ALWAYS_INLINE unsigned slack_shift(size_t slot) {
    return slot < BACKEND_MIN ? SHORT_SLACK_SHIFT : LONG_SLACK_SHIFT;
}

/* What the words of an address have in common. */
static ALWAYS_INLINE struct trailer trailer_by(const void *object, size_t slot, uint64_t payload, enum keyed_way way) {
    return (struct trailer){keyed_of(object, way), payload, address_byte(object), payload_bits(slot)};
}

static ALWAYS_INLINE struct trailer trailer_for(const void *object, size_t slot, uint64_t payload) {
    return trailer_by(object, slot, payload, keyed_way());
}

/* What is left of the payload of a FREED object: its tag. */
static ALWAYS_INLINE uint64_t payload_left(uint64_t payload, unsigned bits) {
    return TAGGED && bits == SHORT_PAYLOAD ? payload & TAG_MASK << PAYLOAD_TAG_SHIFT : 0;
}

/* The word of a LIVE object, or of the same object when it is FREED. */
static ALWAYS_INLINE uint64_t trailer_made(struct trailer trailer, enum trailer_state state) {
    uint64_t payload = state == FREED ? payload_left(trailer.payload, trailer.bits) : trailer.payload;
    uint64_t told = payload | (uint64_t)state << trailer.bits;
    uint64_t code = trailer.keyed.factor * payload + trailer.keyed.addend;
    unsigned shift = PAYLOAD_SHIFT + trailer.bits + 2;
    code = computed_now(code >> (state == FREED ? shift - FREED_SHIFT : shift)) << shift; /* cheaper than a mask */
    return code | told << PAYLOAD_SHIFT | trailer.canary;
}

/* The payload that a word tells, right or not. */
static ALWAYS_INLINE uint64_t trailer_payload(uint64_t word, size_t slot) {
    return word >> PAYLOAD_SHIFT & (((uint64_t)1 << payload_bits(slot)) - 1);
}

/* The trailer of the word's payload. */
static ALWAYS_INLINE struct trailer trailer_told(const void *object, size_t slot, uint64_t word, enum keyed_way way) {
    return trailer_by(object, slot, trailer_payload(word, slot), way);
}

/* Decodes a word: BROKEN, or a state. *trailer is the one of the word's payload. */
static ALWAYS_INLINE enum trailer_state trailer_read(const void *object, size_t slot, uint64_t word,
                                                     struct trailer *trailer, enum keyed_way way) {
    *trailer = trailer_told(object, slot, word, way);
    if (LIKELY(word == trailer_made(*trailer, LIVE))) return LIVE;
    return word == trailer_made(*trailer, FREED) ? FREED : BROKEN;
}

/* Whether the word may be the trailer of the object. Needs no code. */
static ALWAYS_INLINE bool trailer_may_be(const void *object, size_t slot, uint64_t word) {
    uint64_t slack = trailer_payload(word, slot) >> slack_shift(slot);
    return (uint16_t)word == address_byte(object) && slack <= slot - TRAILER_SIZE;
}

#endif
