/* trailer.h - the last eight bytes of every object in the hardened build: the object's length, and a code that an
 * overflow destroys and that an attacker cannot compute.
 *
 *   trailer   | 63..32 payload, masked | 31..2 code | 1..0 state |
 *   payload   bytes between the request's end and the trailer. For objects that can have memory tags: these bytes in
 *             the lower 28 bits, the tag above
 *   code      half of SipHash-1-3 (siphash.h) of address and payload, with the process's secret: the lower half for
 *             LIVE, the upper for FREE. So a word tells nothing about another address, payload or state
 *
 *   state     left by
 *   LIVE      free, by compare-exchange: of two threads only one goes on; the payload stays
 *   FREE      malloc
 *
 * The mask need not be secret. It makes a byte other than 0 where the payload's byte is 0, so zeros that an overflow
 * writes are detected. The lowest byte is never 0, so the final 0 of a string that is one byte too long is detected.
 * The thread that frees the object behind the trailer reads the word relaxed; both states are right then.
 */
#ifndef JW_TRAILER_H
#define JW_TRAILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "hardened/secret.h"
#include "hardened/siphash.h"

typedef _Atomic(uint64_t) trailer_word;
enum trailer_state { BROKEN, LIVE, FREED };
enum { SLACK_MOST = 1 << 30 /* the payload has 32 bits */, PAYLOAD_TAG = 28 };
enum { TRAILER_SIZE = 8, FILLED_MOST = 32 /* bytes behind the request's end that are checked */ };

static inline trailer_word *trailer_of(const char *object, size_t slot) {
    return (trailer_word *)(object + slot - TRAILER_SIZE);
}

/* The values from which both words of an object, LIVE and FREE, are made. */
struct trailer {
    uint64_t hash; /* of address and payload */
    uint32_t payload;
};

static ALWAYS_INLINE struct trailer trailer_for(const void *object, uint32_t payload) {
    uint64_t hash = siphash(secrets.trailer, (uintptr_t)object, payload, sizeof(uint64_t) + sizeof payload);
    return (struct trailer){hash, payload};
}

static ALWAYS_INLINE uint64_t trailer_made(struct trailer trailer, enum trailer_state state) {
    uint32_t code = (uint32_t)(state == LIVE ? trailer.hash : trailer.hash >> 32) & ~3u;
    return (uint64_t)(trailer.payload ^ secrets.mask) << 32 | code | state;
}

/* Decodes a word: BROKEN, or a state. *trailer is the one of the word's payload. */
static ALWAYS_INLINE enum trailer_state trailer_read(const void *object, uint64_t word, struct trailer *trailer) {
    enum trailer_state state = (enum trailer_state)(word & 3);
    *trailer = trailer_for(object, (uint32_t)(word >> 32) ^ secrets.mask);
    return (state == LIVE || state == FREED) && word == trailer_made(*trailer, state) ? state : BROKEN;
}

/* Bytes behind the request's end that are filled. */
static inline size_t filled(size_t slack) {
    return slack < FILLED_MOST ? slack : FILLED_MOST;
}

/* As memset, for the few bytes of a slack. */
static ALWAYS_INLINE void fill_slack(char *end, size_t size, uint8_t with) {
    const uint64_t eight = with * 0x0101010101010101u;
    if (size < sizeof eight) {
        while (size > 0) end[--size] = (char)with;
        return;
    }
    for (; size > sizeof eight; size -= sizeof eight) memcpy(end + size - sizeof eight, &eight, sizeof eight);
    memcpy(end, &eight, sizeof eight);
}

/* Number of the first bytes, of `size`, that still have their fill. */
static inline size_t fill_left(const char *from, size_t size, uint8_t with) {
    const uint64_t eight = with * 0x0101010101010101u;
    size_t left = 0;
    if (size > FILLED_MOST && (uint8_t)*from == with && memcmp(from, from + 1, size - 1) == 0) return size;
    for (uint64_t word; left + sizeof word <= size; left += sizeof word) {
        memcpy(&word, from + left, sizeof word);
        if (word != eight) break;
    }
    while (left < size && (uint8_t)from[left] == with) left++;
    return left;
}

#endif
