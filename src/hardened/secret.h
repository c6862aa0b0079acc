/* secret.h - the secrets of a process in the hardened build. */
#ifndef JW_SECRET_H
#define JW_SECRET_H

#include <stdint.h>

#include "base/compiler.h"

/* Drawn once, by the first slow path. A fork's child keeps its parent's secrets, as it keeps the objects. */
struct secrets {
    uint64_t trailer[2];
    uint32_t mask; /* of trailers; no byte of it is 0 */
    uint8_t fill;  /* of freed objects: a word of it is no address */
};

extern struct secrets secrets HIDDEN;

void secrets_start(void);

#endif
