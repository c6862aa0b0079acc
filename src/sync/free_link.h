/* free_link.h - the first word of a free object: the encoded address of the next free object. The word also tells that
 * the object is free. The frontend's lists use it; so do a thread's cached objects of the midend, with another key.
 *
 *   word   (address of the next free object ^ address of this one) ^ key
 *   key    random, one for each heap; its top 16 bits are set, where an address has none. In the hardened build each
 *          address has a key of its own
 *
 *   transition   by                                   word
 *   write        the thread that frees the object     any -> a link
 *   follow       the thread that has the list         read only
 *   clear        the thread that takes the object     a link -> 0
 *
 * Order: none. The links are plain words. A list belongs to one thread, or a word leads to its first object. That word
 * is published by a release and taken by an acquire (frontend/cross_list.h). Only the question whether an object is
 * free may read the word of an object in use.
 *
 * The next object is nearly always in the same block of 64 MB. Then the addresses differ only in an offset's bits: the
 * link is near, and one test of `word ^ key` sees it (link_is_near). Any other link is followed only after the page map
 * has confirmed its target. malloc never gives out an object whose word is no link. So a word that a program wrote into
 * a free object ends in "write after free", unless it reads as a near link: for that it must have 21 bits of the key
 * right. The line comes when this object is given out, or the object it links to.
 *
 * One compare tells whether a word may be a link. Few words of programs look like one; negative numbers do. An object
 * that is given out has 0 there. But a program may write any word, also an old link: a word alone proves no double
 * free. The lists of the object's owner then decide whether the object is free (frontend/suspect.h).
 *
 * The last link of a list leads to an odd address: LINK_END, or the slab's origin (cross_list.h). An empty list begins
 * with LINK_END, whose word is 0. No key makes a near link of 0, so malloc needs no separate test for an empty list.
 *
 * With -DJW_LINK_CHECK=OFF a word is next ^ key, and malloc follows it as it is: the shortest path. malloc then tests
 * the first object's address before it reads the link. In that build, too, free looks at the word and at the owner's
 * lists. So no correct program is reported.
 *
 * Invariant: the first word of an object in a list is a link to the list's next object, or to its end.
 * Progress: each operation is a few instructions. Verified by tests/unit/free_link_test.c and, in lists that threads
 * share, by verify/clients/free_link_list.c. */
#ifndef JW_FREE_LINK_H
#define JW_FREE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/mitigations.h"
#include "base/mixed.h"

typedef uint64_t __attribute__((may_alias)) link_word;             /* of an aligned object */
typedef uint64_t __attribute__((may_alias, aligned(1))) link_any;  /* read at LINK_END, too */
typedef uint32_t __attribute__((may_alias, aligned(1))) link_half; /* read at any address that a program frees */

#define LINK_MARK 0xffff0000u /* of a link's upper half */

extern const char link_end_word[16] HIDDEN; /* aligned, so that the next address is odd */
#define LINK_END ((void *)(uintptr_t)(link_end_word + 1))

extern uint64_t link_secret HIDDEN; /* hardened build: drawn at its start */

static inline uint64_t link_key_of(uint64_t random) {
    return random | (uint64_t)LINK_MARK << 32;
}

/* In the hardened build each address has its own key, so one link does not directly tell another's. mixed() is no
 * cipher: no more is claimed. */
static ALWAYS_INLINE uint64_t link_key_at(const void *object, uint64_t key) {
    return STRICT_LINKS ? key ^ mixed(link_secret ^ (uintptr_t)object) >> 16 : key;
}

/* The address that a link's distance begins at: the object's own, or 0 without link verification. */
static ALWAYS_INLINE uintptr_t link_base(const void *object) {
    return JW_LINK_CHECK ? (uintptr_t)object : 0;
}

/* XOR of the addresses of the link and the next object. */
static ALWAYS_INLINE uint64_t link_distance(const void *object, uint64_t key) {
    return *(const link_any *)object ^ link_key_at(object, key);
}

/* Whether the distance has only bits of an offset in a block of `block` bytes (a power of two), and none below the
 * alignment. A smaller block would be a stricter test, but one list has cached objects of several slabs. */
static ALWAYS_INLINE bool link_is_near(uint64_t distance, size_t block) {
    return !(distance & ~(uint64_t)(block - 8));
}

/* Whether malloc may read the link of a local list's first object. Without verification the list may end with a slab's
 * origin. That is an address of the granule before the slab, which may be in no mapping. */
static ALWAYS_INLINE bool link_may_be_read(const void *object) {
    return JW_LINK_CHECK || !((uintptr_t)object & 1);
}

/* Whether malloc may follow the link at once, else a cold function decides. */
static ALWAYS_INLINE bool link_may_be_followed(uint64_t distance, size_t block) {
    return !JW_LINK_CHECK || link_is_near(distance, block);
}

static ALWAYS_INLINE void *link_followed(const void *object, uint64_t distance) {
    return (void *)(link_base(object) ^ (uintptr_t)distance);
}

static ALWAYS_INLINE void link_write(void *object, const void *next, uint64_t key) {
    *(link_word *)object = (link_base(object) ^ (uintptr_t)next) ^ link_key_at(object, key);
}

/* Does as link_write. `mask` is key ^ link_base(object): the caller chooses when to compute it. */
static ALWAYS_INLINE void link_write_masked(void *object, const void *next, uint64_t mask) {
    *(link_word *)object = mask ^ (uintptr_t)next;
}

static ALWAYS_INLINE void *link_next(const void *object, uint64_t key) {
    return link_followed(object, link_distance(object, key));
}

/* Removes the link from an object that is given out. */
static ALWAYS_INLINE void link_clear(void *object) {
    *(link_word *)object = 0;
}

/* The links of the midend's cached objects. In each build they are as with link verification, without a key for each
 * address. Returns all 64 bits: the caller tests whether they are an address. */
static ALWAYS_INLINE uint64_t cached_link_next(const void *object, uint64_t key) {
    return (*(const link_word *)object ^ key) ^ (uintptr_t)object;
}

static ALWAYS_INLINE void cached_link_write(void *object, const void *next, uint64_t key) {
    *(link_word *)object = ((uintptr_t)next ^ (uintptr_t)object) ^ key;
}

/* The upper half of the object's first word. If it is LINK_MARK or above, the word may be a link. */
static ALWAYS_INLINE const link_half *link_upper_half(const void *object) {
    return (const link_half *)object + 1;
}

/* Whether the address ends a list of free objects. */
static ALWAYS_INLINE bool link_is_end(const void *object) {
    return (uintptr_t)object & 1;
}

#endif
