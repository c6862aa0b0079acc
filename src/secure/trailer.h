/* trailer.h - the last eight bytes of every object in the hardened build: how long the object is, and a code that an
 * overflow destroys.
 *
 *   trailer   | 63..32 payload, hidden | 31..2 code of secret, address and payload | 1..0 state |
 *
 *   state     payload                                              left by
 *   LIVE      bytes between the request's end and the trailer      free, by compare-exchange: of two one goes on
 *   FREE      the object's last memory tag                         malloc
 *
 * The lowest byte is never 0, so that the 0 behind a string that is one too long shows. The word is read relaxed by
 * whoever frees the object behind it; both states are right then.
 */
#ifndef JW_TRAILER_H
#define JW_TRAILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "secure/secret.h"

typedef _Atomic(uint64_t) trailer_word;
enum trailer_state { BROKEN, LIVE, FREED };
enum { SLACK_MOST = 1 << 30 /* the payload has 32 bits */ };
enum { TRAILER_SIZE = 8, FILLED_MOST = 32 /* bytes behind the request's end that are checked */ };

static inline trailer_word *trailer_of(const char *object, size_t slot) {
    return (trailer_word *)(object + slot - TRAILER_SIZE);
}

/* The secret of a place, from which its words follow. */
static ALWAYS_INLINE uint64_t trailer_pad(const void *object) {
    return mixed(secrets.trailer ^ (uintptr_t)object);
}

static ALWAYS_INLINE uint64_t trailer_made(uint64_t pad, uint32_t payload, enum trailer_state state) {
    uint64_t hidden = pad ^ (uint64_t)payload << 32;
    uint32_t code = (uint32_t)((hidden * 0xbf58476d1ce4e5b9u ^ hidden) >> 32) & ~3u;
    return (hidden & ~(uint64_t)UINT32_MAX) | code | state;
}

/* What a word says: BROKEN, or a state and its payload. */
static ALWAYS_INLINE enum trailer_state trailer_read(uint64_t pad, uint64_t word, uint32_t *payload) {
    enum trailer_state state = (enum trailer_state)(word & 3);
    *payload = (uint32_t)((word ^ pad) >> 32);
    bool right = (state == LIVE || state == FREED) && word == trailer_made(pad, *payload, state);
    return right ? state : BROKEN;
}

/* How many bytes behind the request's end are filled. */
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

/* How many bytes are as they were filled, of `size`. */
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
