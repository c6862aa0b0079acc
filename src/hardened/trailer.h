/* trailer.h - the last eight bytes of every object in the hardened build: the object's length, and a code that an
 * overflow destroys. No attack is known that computes it without the secret.
 *
 *   trailer   | code | state: 2 bits | payload | 15..8 zero | 7..0 canary |
 *   payload   slots below BACKEND_MIN: | 20..17 memory tag | 16 guarded | 15..0 slack |
 *             others: | 30 guarded | 29..0 slack |
 *   state     0: LIVE, 1: FREED
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
 *
 * "Told" is what a word says beside its canary and its code: payload and state, and bits of the canary that are wrong.
 * The slack is in the lowest bits. So one comparison shows that a small object has a right canary, is LIVE, without
 * marks, and has a slack that fits.
 */
#ifndef JW_TRAILER_H
#define JW_TRAILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mitigations.h"
#include "config/geometry.h"
#include "config/size_classes.h"
#include "hardened/secret.h"
#include "platform/features.h"
#include "platform/instructions.h"

typedef _Atomic(uint64_t) trailer_word;
enum trailer_state { LIVE, FREED, BROKEN };
enum { PAYLOAD_SHIFT = 16, SHORT_SLACK = 16, SHORT_PAYLOAD = 21, LONG_SLACK = 30, LONG_PAYLOAD = 31 };
enum { TRAILER_SIZE = 8, FREED_SHIFT = TAGGED ? 8 : 0, SLACK_MOST = (1 << LONG_SLACK) - 1 };
/* An object's marks: above the slack. */
enum { MARK_GUARDED = 1, MARK_TAG_SHIFT = 1, TAG_MASK = 15 };

_Static_assert(BACKEND_MIN - 1 <= UINT32_MAX >> (32 - SHORT_SLACK), "a short slack fits");
/* A power of two that no small object's slack reaches: the upper bits of such a slack are 0. */
#define SMALL_SLACK_LIMIT (1u << (32 - __builtin_clz(FRONTEND_MAX - 1)))
_Static_assert(MARK_GUARDED < 1 << MARK_TAG_SHIFT, "flag and tag do not overlap");
_Static_assert(TAG_MASK << MARK_TAG_SHIFT < 1 << (SHORT_PAYLOAD - SHORT_SLACK), "the marks of a short payload fit");
_Static_assert(MARK_GUARDED < 1 << (LONG_PAYLOAD - LONG_SLACK), "the mark of a long payload fits");
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

static ALWAYS_INLINE unsigned slack_bits(size_t slot) {
    return slot < BACKEND_MIN ? SHORT_SLACK : LONG_SLACK;
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
    return TAGGED && bits == SHORT_PAYLOAD ? payload >> (SHORT_SLACK + MARK_TAG_SHIFT) << (SHORT_SLACK + MARK_TAG_SHIFT)
                                           : 0;
}

/* The state has two bits, above the payload. */
static ALWAYS_INLINE unsigned code_shift(unsigned bits) {
    return PAYLOAD_SHIFT + bits + 2;
}

/* The word of a LIVE object, or of the same object when it is FREED. */
static ALWAYS_INLINE uint64_t trailer_made(struct trailer trailer, enum trailer_state state) {
    uint64_t payload = state == FREED ? payload_left(trailer.payload, trailer.bits) : trailer.payload;
    uint64_t told = payload | (uint64_t)state << trailer.bits;
    uint64_t code = trailer.keyed.factor * payload + trailer.keyed.addend;
    unsigned shift = code_shift(trailer.bits);
    code = (state == FREED ? code >> FREED_SHIFT : computed_now(code >> shift)) << shift; /* cheaper than a mask */
    return code | told << PAYLOAD_SHIFT | trailer.canary;
}

/* What a word tells, right or not; the bits of a wrong canary are the top ones. */
static ALWAYS_INLINE uint64_t trailer_tells(uint64_t word, uint64_t canary, unsigned bits) {
    uint64_t told = (word ^ canary) << (64 - code_shift(bits));
    unsigned shift = PAYLOAD_SHIFT + 64 - code_shift(bits);
    return told >> shift | told << (64 - shift);
}

/* Whether the code of a LIVE object's word is the right one for what the word tells. */
static ALWAYS_INLINE bool code_is_right(struct keyed keyed, uint64_t told, uint64_t word, unsigned bits) {
    return (((keyed.factor * told + keyed.addend) ^ word) >> code_shift(bits)) == 0;
}

/* The payload that a word tells, right or not. */
static ALWAYS_INLINE uint64_t trailer_payload(uint64_t word, size_t slot) {
    return word >> PAYLOAD_SHIFT & (((uint64_t)1 << payload_bits(slot)) - 1);
}

/* The slack that a word of a small object tells, right or not. */
static ALWAYS_INLINE size_t trailer_short_slack(uint64_t word) {
    return (uint16_t)(word >> PAYLOAD_SHIFT);
}
_Static_assert(SHORT_SLACK == 16, "a short slack has 16 bits");

/* Decodes a word: BROKEN, or a state. *trailer is the one of the word's payload. */
static ALWAYS_INLINE enum trailer_state trailer_read(const void *object, size_t slot, uint64_t word,
                                                     struct trailer *trailer, enum keyed_way way) {
    *trailer = trailer_by(object, slot, trailer_payload(word, slot), way);
    if (LIKELY(word == trailer_made(*trailer, LIVE))) return LIVE;
    return word == trailer_made(*trailer, FREED) ? FREED : BROKEN;
}

/* Whether the word may be the trailer of a small object with that canary, whose slack is in no case SMALL_SLACK_LIMIT
 * bytes long. Needs no code. */
static ALWAYS_INLINE bool trailer_may_be(uint64_t word, uint64_t canary) {
    const uint64_t slack = (((uint64_t)1 << SHORT_SLACK) - SMALL_SLACK_LIMIT) << PAYLOAD_SHIFT;
    return ((word ^ canary) & (slack | (((uint64_t)1 << PAYLOAD_SHIFT) - 1))) == 0;
}

#endif
