/* leaf_word.h - the word that says what begins at a granule.
 *
 *   leaf   31 30    28 27                    0
 *          | 1 |          heap number         |   a frontend slab, owned by that heap
 *          | 0 |  kind   | payload            |   all others
 *
 *   kind       payload                          written by
 *   NONE       0; trace of a large object:      a granule inside a range, or not ours. Here: in the first granule of an
 *              here (23), before (22),          object that was freed. Before: in the second granule of a range that
 *              granules (21..0)                 begins with its object; while the object is in use, the range's weight
 *   FREE       nest (bits 24-27), prev          the range's holder; prev: the holder of the list's lock
 *   MID        class (bits 24-27), prev         as FREE
 *   LARGE      granules up to the object        allocating and freeing thread (compare-exchange on free)
 *   INTERIOR   class (24-27) if of a mid slab,  the holder: granules 1.. of a mid slab, aligned pointers into a range
 *              granules back to the start
 *   DEFERRED   unmapped (24), not acquired (26) the holder: the range is, or soon will be, deferred
 *   HELD       0; hardened build: the next     the holder, in transit, or a thread that caches it
 *              range in region_stack.h
 *   SEALED     tier (24-27), an object's       the thread that seals the root (core/seal_roots.c): a slab, a mid
 *              bytes / 8                       slab, or the range of a large object that was in use then
 *
 * Only this file knows the bits. Each function is one expression on a value, often of constants: a call would need more
 * instructions. The tables of the words are in page_map.h.
 */
#ifndef JW_LEAF_WORD_H
#define JW_LEAF_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/granule_id.h"
#include "base/compiler.h"

struct leaf_word {
    uint32_t raw;
};

enum leaf_kind { NONE, FREE, MID, LARGE, INTERIOR, DEFERRED, HELD, SEALED };

#define LEAF_SLAB 0x80000000u
#define LEAF_KIND_SHIFT 28
#define LEAF_HIGH_SHIFT 24
#define LEAF_NEST 15u
#define LEAF_CLASS 15u
#define LEAF_UNMAPPED (1u << LEAF_HIGH_SHIFT)
#define LEAF_NOT_ACQUIRED (1u << (LEAF_HIGH_SHIFT + 2))
#define LEAF_TRACE_HERE 0x00800000u
#define LEAF_TRACE_BEFORE 0x00400000u
#define LEAF_BYTES_SHIFT 3

_Static_assert(SEALED < LEAF_SLAB >> LEAF_KIND_SHIFT, "a kind fits in three bits");
_Static_assert(ROOT_SIZE >> LEAF_BYTES_SHIFT <= ID_MASK, "the size of a sealed object fits below its tier");
_Static_assert(ID_MASK < 1u << LEAF_HIGH_SHIFT, "a granule's number fits below class and nest");
_Static_assert(LEAF_TRACE_HERE <= ID_MASK && ROOT_GRANULES < LEAF_TRACE_BEFORE, "a trace fits below class and nest");

static inline struct leaf_word leaf_made(enum leaf_kind kind, uint32_t high, uint32_t low) {
    return (struct leaf_word){(uint32_t)kind << LEAF_KIND_SHIFT | high << LEAF_HIGH_SHIFT | low};
}

static inline struct leaf_word leaf_none(void) {
    return leaf_made(NONE, 0, 0);
}

static inline struct leaf_word leaf_held(void) {
    return leaf_made(HELD, 0, 0);
}

static inline struct leaf_word leaf_free(unsigned nest) {
    return leaf_made(FREE, nest, 0);
}

static inline struct leaf_word leaf_mid(unsigned class) {
    return leaf_made(MID, class, 0);
}

static inline struct leaf_word leaf_large(uint32_t offset) {
    return leaf_made(LARGE, 0, offset);
}

/* `class`: the mid slab's; 0 in a large object's range. */
static inline struct leaf_word leaf_interior(unsigned class, uint32_t back) {
    return leaf_made(INTERIOR, class, back);
}

static inline struct leaf_word leaf_deferred(bool unmapped, bool acquired) {
    struct leaf_word leaf = leaf_made(DEFERRED, 0, 0);
    leaf.raw |= (unmapped ? LEAF_UNMAPPED : 0) | (acquired ? 0 : LEAF_NOT_ACQUIRED);
    return leaf;
}

static inline struct leaf_word leaf_slab(uint32_t heap) {
    return (struct leaf_word){LEAF_SLAB | heap};
}

/* Traces of a large object that had `granules` granules. */
static inline struct leaf_word leaf_trace_here(uint32_t granules) {
    return leaf_made(NONE, 0, LEAF_TRACE_HERE | granules);
}

static inline struct leaf_word leaf_trace_before(uint32_t granules) {
    return leaf_made(NONE, 0, LEAF_TRACE_BEFORE | granules);
}

static inline struct leaf_word leaf_sealed(unsigned tier, size_t size) {
    return leaf_made(SEALED, tier, (uint32_t)(size >> LEAF_BYTES_SHIFT));
}

static inline unsigned leaf_sealed_tier(struct leaf_word leaf) {
    return leaf.raw >> LEAF_HIGH_SHIFT & LEAF_CLASS;
}

static inline size_t leaf_sealed_size(struct leaf_word leaf) {
    return (size_t)(leaf.raw & ID_MASK) << LEAF_BYTES_SHIFT;
}

static ALWAYS_INLINE bool leaf_same(struct leaf_word one, struct leaf_word other) {
    return one.raw == other.raw;
}

static ALWAYS_INLINE bool leaf_is_slab(struct leaf_word leaf) {
    return leaf.raw & LEAF_SLAB;
}

/* The value is none of `enum leaf_kind` where the granule is a frontend slab. */
static ALWAYS_INLINE enum leaf_kind leaf_kind(struct leaf_word leaf) {
    return (enum leaf_kind)(leaf.raw >> LEAF_KIND_SHIFT);
}

/* The Nest where a free range waits. */
static inline unsigned leaf_nest(struct leaf_word leaf) {
    return leaf.raw >> LEAF_HIGH_SHIFT & LEAF_NEST;
}

/* The class of a mid slab, from the word of any of its granules. */
static ALWAYS_INLINE unsigned leaf_class(struct leaf_word leaf) {
    return leaf.raw >> LEAF_HIGH_SHIFT & LEAF_CLASS;
}

/* Whether a mid slab of the class begins here. */
static ALWAYS_INLINE bool leaf_is_mid(struct leaf_word leaf, uint32_t class) {
    return leaf.raw >> LEAF_HIGH_SHIFT == ((uint32_t)MID << (LEAF_KIND_SHIFT - LEAF_HIGH_SHIFT)) + class;
}

/* The first granule of the thing that has this word: the granule itself, except for INTERIOR. */
static ALWAYS_INLINE granule_id leaf_start(granule_id id, struct leaf_word leaf) {
    return id - (leaf_kind(leaf) == INTERIOR ? leaf.raw & ID_MASK : 0);
}

/* Granules from the range's start up to the LARGE object. */
static inline uint32_t leaf_offset(struct leaf_word leaf) {
    return leaf.raw & ID_MASK;
}

static inline bool leaf_is_unmapped(struct leaf_word leaf) {
    return leaf.raw & LEAF_UNMAPPED;
}

static inline bool leaf_is_acquired(struct leaf_word leaf) {
    return !(leaf.raw & LEAF_NOT_ACQUIRED);
}

/* The range before this one in a Nest's list. 0: this one is the list's first, or in no list. */
static inline granule_id leaf_previous(struct leaf_word leaf) {
    return leaf.raw & ID_MASK;
}

static inline struct leaf_word leaf_with_previous(struct leaf_word leaf, granule_id previous) {
    return (struct leaf_word){(leaf.raw & ~ID_MASK) | previous};
}

/* Granules of the object that the trace describes; 0: the word is no such trace. */
static ALWAYS_INLINE uint32_t leaf_traced_here(struct leaf_word leaf) {
    uint32_t granules = leaf.raw - LEAF_TRACE_HERE;
    return granules < LEAF_TRACE_BEFORE ? granules : 0;
}

static ALWAYS_INLINE uint32_t leaf_traced_before(struct leaf_word leaf) {
    uint32_t granules = leaf.raw - LEAF_TRACE_BEFORE;
    return granules < LEAF_TRACE_BEFORE ? granules : 0;
}

#endif
