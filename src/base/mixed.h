/* mixed.h - mixes the bits of a word (the last steps of splitmix64): similar words give unrelated results. */
#ifndef JW_MIXED_H
#define JW_MIXED_H

#include <stdint.h>

#include "base/compiler.h"

static inline uint64_t mixed(uint64_t word) {
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

/* Adds a word to a stamp. If one of its words changes, the stamp does; if several do, it almost always does. */
static ALWAYS_INLINE uint64_t stamped(uint64_t stamp, uint64_t word) {
    return stamp * 0x94d049bb133111ebu + word;
}

#endif
