/* secret.h - the secrets of a process in the hardened build. */
#ifndef JW_SECRET_H
#define JW_SECRET_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/siphash.h"

/* Drawn once, by the first slow path. A fork's child keeps its parent's secrets, as it keeps the objects. */
struct secrets {
    struct sip_state trailer; /* of the codes of trailers */
    uint64_t place[2];        /* of what differs from address to address and protects nothing else; the second is odd */
};

extern struct secrets secrets HIDDEN;

void secrets_start(void);

/* A byte that differs from address to address and is never 0: the canary of a trailer, and the fill of what a program
 * may not touch. Attackers that can read many of them can find the others, but no trailer's code. */
static ALWAYS_INLINE uint8_t address_byte(const void *object) {
    return (uint8_t)(((uintptr_t)object ^ secrets.place[0]) * secrets.place[1] >> 56) | 1;
}

#endif
