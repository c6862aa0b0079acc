/* node_word.h - the word of an inner node of Knit's tree, the only word that siblings share (knit.h).
 *
 *   node   | 31 | 30..28 own slot in parent | 27..24 unit of own parent | 23..0 eight slots of three bits |
 *
 * knit.h has the codes of a slot and says which thread changes them. Only this file knows the bits. The tables of the
 * words are in page_map.h.
 */
#ifndef JW_NODE_WORD_H
#define JW_NODE_WORD_H

#include <stdint.h>

#include "backend/range_link.h"

struct node_word {
    uint32_t raw;
};

/* MAPPED, UNMAPPED: the paper's words for a free range with pages and one without. The addresses stay mapped in both.
 * knit.h has all codes. */
enum slot_code { CONTINUES, END, IN_USE = 4, MAPPED, UNMAPPED, LEFT };

#define NODE_SLOTS 8u
#define CODE_BITS 3
#define CODE_MASK 7u
#define ALL_CODES 0x00ffffffu

_Static_assert(NODE_SLOTS *CODE_BITS == 24 && (ALL_CODES & POSITION_MASK) == 0, "the codes fit below the position");
_Static_assert(LEFT <= CODE_MASK && NODE_SLOTS - 1 <= POSITION_SLOT,
               "a code fits in three bits, a slot's number in three");

/* A node without codes, at the position of the range that is split. */
static inline struct node_word node_of_link(struct range_link link) {
    return (struct node_word){link.raw & POSITION_MASK};
}

/* The position of the node's own range. */
static inline struct range_link node_position(struct node_word node) {
    return (struct range_link){node.raw & POSITION_MASK};
}

/* The codes with an END on either side: a search always finds an end. */
static inline uint32_t node_fenced(struct node_word node) {
    return (node.raw & ALL_CODES) << CODE_BITS | END | END << (CODE_BITS * NODE_SLOTS + CODE_BITS);
}

static inline enum slot_code node_code(struct node_word node, unsigned slot) {
    return (enum slot_code)(node_fenced(node) >> (CODE_BITS * slot + CODE_BITS) & CODE_MASK);
}

static inline struct node_word node_with(struct node_word node, unsigned slot, enum slot_code code) {
    return (struct node_word){(node.raw & ~(CODE_MASK << (CODE_BITS * slot))) | (uint32_t)code << (CODE_BITS * slot)};
}

/* The code in `count` slots from `slot` on. */
static inline uint32_t node_codes(unsigned slot, unsigned count, enum slot_code code) {
    uint32_t ones = ALL_CODES / CODE_MASK >> CODE_BITS * (NODE_SLOTS - count);
    return (ones * code) << (CODE_BITS * slot);
}

/* The node with these codes where it has CONTINUES. */
static inline struct node_word node_with_codes(struct node_word node, uint32_t codes) {
    return (struct node_word){node.raw | codes};
}

/* First slot after the child that begins at `slot`: the next code above 0, which is CONTINUES. */
static inline unsigned node_end(struct node_word node, unsigned slot) {
    return slot + 1 + (unsigned)__builtin_ctz(node_fenced(node) >> (CODE_BITS * slot + 2 * CODE_BITS)) / CODE_BITS;
}

/* Where the left sibling of the child at `slot` begins; left of slot 0 is END at slot -1. */
static inline unsigned node_left(struct node_word node, unsigned slot) {
    uint32_t left = node_fenced(node) & (((CODE_MASK + 1) << CODE_BITS * slot) - 1);
    return (unsigned)(31 - __builtin_clz(left)) / CODE_BITS - 1;
}

#endif
