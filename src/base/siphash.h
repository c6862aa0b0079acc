/* siphash.h - SipHash-1-3 (Aumasson and Bernstein, 2012) of messages of at most seven bytes: a keyed function. No
 * attack is known by which a value tells of the key, or of the value for another message. An address fits in seven
 * bytes.
 *
 * Used by trailers (hardened/trailer.h) and for the keys of heaps (frontend/heap_key.c).
 * tests/unit/trailer_test.c compares it with another implementation.
 */
#ifndef JW_SIPHASH_H
#define JW_SIPHASH_H

#include <stdint.h>

#include "base/compiler.h"

static ALWAYS_INLINE uint64_t sip_rotated(uint64_t word, unsigned by) {
    return word << by | word >> (64 - by);
}

static ALWAYS_INLINE void sip_left(uint64_t v[4]) {
    v[0] += v[1];
    v[1] = sip_rotated(v[1], 13) ^ v[0];
    v[0] = sip_rotated(v[0], 32);
}

static ALWAYS_INLINE void sip_rest(uint64_t v[4]) {
    v[2] += v[3];
    v[3] = sip_rotated(v[3], 16) ^ v[2];
    v[2] += v[1];
    v[0] += v[3];
    v[1] = sip_rotated(v[1], 17) ^ v[2];
    v[3] = sip_rotated(v[3], 21) ^ v[0];
    v[2] = sip_rotated(v[2], 32);
}

static ALWAYS_INLINE void sip_round(uint64_t v[4]) {
    sip_left(v);
    sip_rest(v);
}

/* The state that a key gives before any message: half of the first round needs no message. */
struct sip_state {
    uint64_t v[4];
};

static inline void sip_begin(struct sip_state *state, const uint64_t key[2]) {
    state->v[0] = key[0] ^ 0x736f6d6570736575u;
    state->v[1] = key[1] ^ 0x646f72616e646f6du;
    state->v[2] = key[0] ^ 0x6c7967656e657261u;
    state->v[3] = key[1] ^ 0x7465646279746573u;
    sip_left(state->v);
}

/* Hash of the `length` lowest bytes of `message`, lowest first; its other bytes are 0. */
static ALWAYS_INLINE uint64_t sip_of(const struct sip_state *state, uint64_t message, unsigned length) {
    uint64_t v[4] = {state->v[0], state->v[1], state->v[2], state->v[3]};
    message |= (uint64_t)length << 56;
    v[3] ^= message;
    sip_rest(v);
    v[0] ^= message;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline uint64_t siphash(const uint64_t key[2], uint64_t message, unsigned length) {
    struct sip_state state;
    sip_begin(&state, key);
    return sip_of(&state, message, length);
}

#endif
