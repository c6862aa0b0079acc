/* knit.c - the tree's operations: acquire and release a range, split it, join it with a sibling. */
#include "backend/knit.h"

#include "backend/weights.h"
#include "platform/assert.h"

/* Where a range is in the tree. */
struct tree_position {
    _Atomic(struct node_word) *node; /* the parent's */
    uint32_t unit, slot;             /* the slot as node_word.h names it */
};

static void set_position(granule_id range, struct range_link position) {
    range_link_set(range, range_link_with_position(range_link_get(range), position));
}

static ALWAYS_INLINE struct tree_position position_of(granule_id range, struct range_link link) {
    unsigned unit = range_link_unit(link), slot = range_link_slot(link);
    invariant(unit != NO_PARENT); /* a root has no siblings and no parent's word */
    return (struct tree_position){node_at(range + ((1 - slot) << unit)), unit, node_slot(slot)};
}

static ALWAYS_INLINE struct tree_position find_position(granule_id range) {
    return position_of(range, range_link_get(range));
}

void knit_make_root(granule_id root) {
    range_link_set(root, range_link_made(NO_PARENT, 0));
}

static bool is_root(struct range_link link) {
    return range_link_unit(link) == NO_PARENT;
}

bool knit_is_root(granule_id range) {
    return is_root(range_link_get(range));
}

uint32_t knit_weight(granule_id range) {
    struct range_link link = range_link_get(range);
    if (is_root(link)) return ROOT_GRANULES;
    struct tree_position position = position_of(range, link);
    struct node_word node = atomic_load_explicit(position.node, memory_order_relaxed);
    return node_slots_between(position.slot, node_end(node, position.slot)) << position.unit;
}

/* Puts more children into the parent: `codes` has IN_USE where they begin. */
static ALWAYS_INLINE void split_in_parent(const struct tree_position *position, uint32_t codes) {
    struct node_word node = atomic_load_explicit(position->node, memory_order_relaxed);
    invariant(node_code(node, position->slot) == IN_USE);
    /* relaxed: the new children's words matter to no other thread before their holder releases them */
    while (!atomic_compare_exchange_weak_explicit(position->node, &node, node_with_codes(node, codes),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Makes the range an inner node, with children at its start and where `codes` has IN_USE. The release of a child
 * publishes the node's word. */
static ALWAYS_INLINE void split_in_new_node(granule_id range, uint32_t weight, unsigned unit, uint32_t codes) {
    unsigned slots = weight >> unit;
    struct node_word node = node_with(node_of_link(range_link_get(range)), 0, IN_USE);
    node = node_with_codes(node_with_codes(node, codes), node_codes(slots, NODE_SLOTS - slots, END));
    atomic_store_explicit(node_at(range + (1u << unit)), node, memory_order_relaxed);
    set_position(range, range_link_made(unit, 0));
}

/* Puts children into the parent if it has that unit, else into a new node: a range with its parent's unit never becomes
 * a node. `codes` has IN_USE where children begin. */
static NOINLINE void split_at_codes(granule_id range, uint32_t weight, unsigned unit, uint32_t codes) {
    if (range_link_unit(range_link_get(range)) == unit) {
        struct tree_position position = find_position(range);
        split_in_parent(&position, codes);
    } else {
        split_in_new_node(range, weight, unit, codes);
    }
}

/* The left part, where `wanted` is no multiple of the unit: the next multiple (the paper's Algorithm 1). For 3 and 5
 * times a power of two it is three units: such a part holds two of the first without a gap, and in the end leaves a
 * sixth beside the others. Of the next multiple a quarter and three eighths would stay. */
static ALWAYS_INLINE uint32_t split_left(unsigned unit, uint32_t wanted) {
    uint32_t odd = odd_part(wanted);
    return (odd == 3 || odd == 5 ? 3 : ((wanted - 1) >> unit) + 1) << unit;
}

granule_id knit_split(granule_id range, uint32_t wanted) {
    uint32_t weight = knit_weight(range), left = wanted;
    struct range_link link = range_link_get(range);
    unsigned unit = finest_unit(weight), new_unit = unit, slot = range_link_slot(link);
    invariant(wanted < weight && weight_round_up(wanted) == wanted && weight_round_up(weight) == weight);
    if (unit > coarsest_unit(wanted)) left = split_left(unit, wanted);
    invariant(left < weight);
    unit = range_link_unit(link);
    if (left % (1u << unit) > 0) { /* always so in a root: no part of it is a multiple of 2^NO_PARENT */
        unit = new_unit;
        slot = 0;
    }
    slot += left >> unit;
    range_link_set(range + left, range_link_made(unit, slot));
    split_at_codes(range, weight, unit, node_codes(slot, 1, IN_USE));
    return range + left;
}

void knit_split_all(granule_id range, uint32_t weight) {
    invariant(weight > 1 && weight <= NODE_SLOTS && weight == knit_weight(range));
    struct range_link link = range_link_get(range);
    unsigned slot = range_link_unit(link) == 0 ? range_link_slot(link) : 0;
    for (unsigned next = 1; next < weight; next++) range_link_set(range + next, range_link_made(0, slot + next));
    split_at_codes(range, weight, 0, node_codes(slot, weight, IN_USE));
}

static enum slot_code acquire_at(_Atomic(struct node_word) *word, unsigned slot) {
    struct node_word node = atomic_load_explicit(word, memory_order_relaxed);
    for (;;) {
        unsigned code = node_code(node, slot);
        if (code <= IN_USE) return IN_USE;
        /* [KN1] acquire: the range's words are the holder's; pairs [KN3] [KN4]; clients knit_acquire knit_left */
        if (atomic_compare_exchange_weak_explicit(word, &node, node_with(node, slot, IN_USE), memory_order_acquire,
                                                  memory_order_relaxed))
            return (enum slot_code)code;
    }
}

enum slot_code knit_acquire(granule_id range) {
    struct range_link link = range_link_get(range);
    if (is_root(link)) return LEFT; /* a root has no siblings: the thread that has it from the Nest has it all */
    struct tree_position position = position_of(range, link);
    return acquire_at(position.node, position.slot);
}

static bool free_at(struct node_word node, unsigned slot, enum slot_code state) {
    unsigned code = node_code(node, slot);
    return code == state || code == LEFT;
}

granule_id knit_acquire_sibling(granule_id range, unsigned sides, enum slot_code state, enum slot_code *was) {
    struct range_link link = range_link_get(range);
    if (is_root(link)) return 0;
    struct tree_position position = position_of(range, link);
    struct node_word node = atomic_load_explicit(position.node, memory_order_relaxed);
    for (;;) {
        unsigned slot = node_end(node, position.slot);
        if (!(sides & ON_THE_RIGHT && free_at(node, slot, state))) {
            slot = node_left(node, position.slot);
            if (!(sides & ON_THE_LEFT && free_at(node, slot, state))) return 0;
        }
        *was = (enum slot_code)node_code(node, slot);
        /* [KN2] acquire: as KN1; pairs [KN3] [KN4]; clients knit_acquire knit_release */
        if (atomic_compare_exchange_weak_explicit(position.node, &node, node_with(node, slot, IN_USE),
                                                  memory_order_acquire, memory_order_relaxed))
            return range + (node_slots_between(position.slot, slot) << position.unit);
    }
}

COLD uint32_t knit_weight_with_right(granule_id range) {
    struct tree_position position = find_position(range);
    struct node_word node = atomic_load_explicit(position.node, memory_order_relaxed);
    unsigned end = node_end(node, position.slot);
    while (node_code(node, end) > IN_USE) end = node_end(node, end);
    return node_slots_between(position.slot, end) << position.unit;
}

wide_bool knit_release(granule_id range, enum slot_code state) {
    struct range_link link = range_link_get(range);
    if (is_root(link)) return true;
    struct tree_position position = position_of(range, link);
    struct node_word node = atomic_load_explicit(position.node, memory_order_relaxed);
    for (;;) {
        invariant(node_code(node, position.slot) == IN_USE);
        if (node_code(node, node_left(node, position.slot)) == state) return false;
        if (node_code(node, node_end(node, position.slot)) == state) return false;
        /* [KN3] release: the range's words, to the next holder; pairs [KN1] [KN2]; client knit_acquire */
        if (atomic_compare_exchange_weak_explicit(position.node, &node, node_with(node, position.slot, state),
                                                  memory_order_release, memory_order_relaxed))
            return true;
    }
}

void knit_relinquish(granule_id range) {
    struct tree_position position = find_position(range);
    struct node_word node = atomic_load_explicit(position.node, memory_order_relaxed);
    invariant(node_code(node, position.slot) == IN_USE);
    /* [KN4] release: as KN3; pairs [KN1] [KN2]; client knit_left */
    while (!atomic_compare_exchange_weak_explicit(position.node, &node, node_with(node, position.slot, LEFT),
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

granule_id knit_join(granule_id left, granule_id right) {
    struct tree_position position = find_position(left);
    unsigned right_slot = node_slot(range_link_slot(range_link_get(right)));
    leaf_set(right, leaf_none());
    struct node_word node = atomic_load_explicit(position.node, memory_order_relaxed), joined;
    do {
        invariant(node_code(node, position.slot) == IN_USE && node_code(node, right_slot) == IN_USE);
        joined = node_with(node, right_slot, CONTINUES);
        /* relaxed: both are held; the joined range is published when it is released */
    } while (!atomic_compare_exchange_weak_explicit(position.node, &node, joined, memory_order_relaxed,
                                                    memory_order_relaxed));
    if (position.slot == 0 && node_code(joined, node_end(joined, 0)) == END) set_position(left, node_position(joined));
    return left;
}
