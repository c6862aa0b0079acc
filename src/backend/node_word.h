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
#define CODE_BITS_INVERSE 0xaaaaaaabu
#define TOP_BITS 0444444444u

_Static_assert(NODE_SLOTS *CODE_BITS == 24 && (ALL_CODES & POSITION_MASK) == 0, "the codes fit below the position");
_Static_assert(END == 1 && IN_USE == (CODE_MASK + 1) / 2, "the highest bit: set from IN_USE on");
_Static_assert(CODE_BITS *CODE_BITS_INVERSE == 1, "times the inverse is an exact division");
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

/* The functions below name a slot by the first bit of its code in the word: a search for a child finds that bit, and
 * only where a range begins asks for the slot's number. */
static inline unsigned node_slot(unsigned number) {
    return number * CODE_BITS;
}

/* How many slots lie from one to another, negative to the left: an exact division by CODE_BITS, as a multiplication. */
static inline uint32_t node_slots_between(unsigned from, unsigned to) {
    return (to - from) * CODE_BITS_INVERSE;
}

/* The codes, with an END behind the last one: a search to the right always finds an end. */
static inline uint32_t node_fenced(struct node_word node) {
    return (node.raw & ALL_CODES) | END << (CODE_BITS * NODE_SLOTS);
}

/* The highest bit of each code but CONTINUES: it is set in all but END, which has only its lowest. */
static inline uint32_t node_tops(struct node_word node) {
    uint32_t fenced = node_fenced(node);
    return (fenced | fenced << (CODE_BITS - 1)) & TOP_BITS;
}

static inline enum slot_code node_code(struct node_word node, unsigned slot) {
    return (enum slot_code)(node_fenced(node) >> slot & CODE_MASK);
}

static inline struct node_word node_with(struct node_word node, unsigned slot, enum slot_code code) {
    return (struct node_word){(node.raw & ~(CODE_MASK << slot)) | (uint32_t)code << slot};
}

/* The code in `count` slots from number `first` on. */
static inline uint32_t node_codes(unsigned first, unsigned count, enum slot_code code) {
    uint32_t ones = ALL_CODES / CODE_MASK >> CODE_BITS * (NODE_SLOTS - count);
    return (ones * code) << (CODE_BITS * first);
}

/* The node with these codes where it has CONTINUES. */
static inline struct node_word node_with_codes(struct node_word node, uint32_t codes) {
    return (struct node_word){node.raw | codes};
}

/* First slot after the child that begins at `slot`: the next code that is not CONTINUES. */
static inline unsigned node_end(struct node_word node, unsigned slot) {
    return slot + 1 + (unsigned)__builtin_ctz(node_tops(node) >> slot >> CODE_BITS);
}

/* Where the left sibling of the child at `slot` begins. Slot 0, where a child always begins, has none: itself. */
static inline unsigned node_left(struct node_word node, unsigned slot) {
    uint32_t left = (node_tops(node) & ((1u << slot) - 1)) | IN_USE;
    return (unsigned)(31 - __builtin_clz(left)) - (CODE_BITS - 1);
}

#endif
