/* range_link.h - the word with a range's position: in its parent node, and in a Nest or another list.
 *
 *   link   | 31 in list | 30..28 slot in parent | 27..24 parent's unit, 15: none | 23..0 next range or Nest slot |
 *
 *   part           may be written by
 *   slot, unit     the range's holder: they are its position in the tree (knit.h)
 *   in list, next  the holder of the list's lock in a Nest (nest.h); else the holder, or the thread that has the list
 *
 * A node's word has the position of the node's own range at the same bits (node_word.h).
 * Only this file and node_word.h know the bits. The tables of the words are in page_map.h.
 */
#ifndef JW_RANGE_LINK_H
#define JW_RANGE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/granule_id.h"

struct range_link {
    uint32_t raw;
};

#define NO_PARENT 15u
#define LINK_IN_LIST 0x80000000u
#define POSITION_MASK 0x7f000000u
#define POSITION_UNIT_SHIFT 24
#define POSITION_SLOT_SHIFT 28
#define POSITION_UNIT 15u
#define POSITION_SLOT 7u

_Static_assert((LINK_IN_LIST ^ POSITION_MASK ^ ID_MASK) == UINT32_MAX, "the parts of a link do not overlap");
_Static_assert(POSITION_MASK == (POSITION_UNIT << POSITION_UNIT_SHIFT | POSITION_SLOT << POSITION_SLOT_SHIFT),
               "unit and slot");
_Static_assert(JW_ROOT_SHIFT - JW_GRANULE_SHIFT < NO_PARENT, "a unit is no larger than a root");
_Static_assert(JW_NEST_SLOTS <= ID_MASK, "a Nest's slot fits");

static inline struct range_link range_link_made(unsigned unit, unsigned slot) {
    return (struct range_link){unit << POSITION_UNIT_SHIFT | slot << POSITION_SLOT_SHIFT};
}

static inline unsigned range_link_unit(struct range_link link) {
    return link.raw >> POSITION_UNIT_SHIFT & POSITION_UNIT;
}

static inline unsigned range_link_slot(struct range_link link) {
    return link.raw >> POSITION_SLOT_SHIFT & POSITION_SLOT;
}

/* The next range of a list, or the slot in a Nest. */
static inline granule_id range_link_following(struct range_link link) {
    return link.raw & ID_MASK;
}

static inline bool range_link_in_list(struct range_link link) {
    return link.raw & LINK_IN_LIST;
}

static inline struct range_link range_link_with_following(struct range_link link, granule_id following) {
    return (struct range_link){(link.raw & ~ID_MASK) | following};
}

static inline struct range_link range_link_with_list(struct range_link link, granule_id following, bool in_list) {
    return (struct range_link){(link.raw & POSITION_MASK) | following | (in_list ? LINK_IN_LIST : 0)};
}

/* The link with the position taken from another one. */
static inline struct range_link range_link_with_position(struct range_link link, struct range_link position) {
    return (struct range_link){(link.raw & ~POSITION_MASK) | (position.raw & POSITION_MASK)};
}

#endif
