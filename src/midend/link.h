/* link.h - the first word of a free object of the frontend: which one is next, and that this one is free. The midend's
 * loose objects have the same, with another key (hold.h).
 *
 *   word   address of the next free object ^ key
 *   key    random, one for each heap; its top 16 bits are set, where an address has none
 *
 * So one compare tells whether a word may be a link, which what programs write there seldom looks like (negative
 * numbers do), and all 64 bits tell for certain. What is given out has 0 there: a link is found in free objects only.
 *
 * The last link of a list leads to an odd address: LINK_END, or the slab's origin (cross_list.h).
 */
#ifndef JW_LINK_H
#define JW_LINK_H

#include "backend/map.h"
#include "secure/secret.h"

typedef uint64_t __attribute__((may_alias)) link_word;
typedef uint32_t __attribute__((may_alias, aligned(1))) link_half; /* read at any address that a program frees */

#define LINK_MARK 0xffff0000u /* of a link's upper half */

static inline uint64_t link_key_of(uint64_t random) {
    return random | (uint64_t)LINK_MARK << 32;
}

/* In the hardened build every place has a key of its own, so that who reads a link cannot write another. */
static ALWAYS_INLINE uint64_t link_key_at(const void *object, uint64_t key) {
    return JW_SECURE ? key ^ mixed(secrets.link ^ (uintptr_t)object) >> 16 : key;
}

static ALWAYS_INLINE void link_write(void *object, const void *next, uint64_t key) {
    *(link_word *)object = (uintptr_t)next ^ link_key_at(object, key);
}

static ALWAYS_INLINE void *link_next(const void *object, uint64_t key) {
    return (void *)(uintptr_t)(*(const link_word *)object ^ link_key_at(object, key));
}

/* Leaves no link in an object that is given out. */
static ALWAYS_INLINE void link_clear(void *object) {
    *(link_word *)object = 0;
}

/* From LINK_MARK on, the word may be a link. */
static ALWAYS_INLINE const link_half *link_upper_half(const void *object) {
    return (const link_half *)object + 1;
}

#define LINK_END ((void *)1)

/* Whether the address ends a list of free objects. */
static ALWAYS_INLINE bool link_end(const void *object) {
    return (uintptr_t)object & 1;
}

#endif
