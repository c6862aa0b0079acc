/* secret.h - what the hardened build knows and an attacker does not: the keys of a process. */
#ifndef JW_SECRET_H
#define JW_SECRET_H

#include <stdint.h>

#include "base/compiler.h"

/* Drawn once, by the first slow path; a fork's child keeps its parent's, as its objects do. */
struct secrets {
    uint64_t trailer[2];
    uint32_t mask; /* of trailers; no byte of it is 0 */
    uint8_t fill;  /* of freed objects: a word of it is no address */
};

extern struct secrets secrets HIDDEN;

void secrets_start(void);

#endif
