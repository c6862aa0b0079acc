/* header.h - a word at the start of every slab's header: an overflow from the granule before destroys it first. It is
 * looked at before the header is used.
 */
#ifndef JW_HEADER_H
#define JW_HEADER_H

#include "base/misuse.h"
#include "secure/secret.h"

static inline uint64_t header_word(const void *slab) {
    return mixed(secrets.header ^ (uintptr_t)slab);
}

static inline void header_check(const void *slab, uint64_t word) {
    if (UNLIKELY(word != header_word(slab))) misuse(OVERFLOW, slab, 0);
}

#endif
