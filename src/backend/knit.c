#include "backend/knit.h"

#include "backend/weights.h"
#include "base/assert.h"

#define NO_PARENT 15u
#define PLACE_SHIFT 24 /* unit and slot stand at the same bits in a link and in a node */
#define PLACE_MASK 0x7f000000u
#define SLOTS 8u
#define ALL_SLOTS 0x00ffffffu

/* Where a range is in the tree. */
struct place {
    record_word *node; /* the parent's word */
    uint32_t unit, slot;
};

static unsigned place_unit(uint32_t word) {
    return word >> PLACE_SHIFT & 15;
}

static unsigned place_slot(uint32_t word) {
    return word >> (PLACE_SHIFT + 4) & 7;
}

static uint32_t place_bits(unsigned unit, unsigned slot) {
    return unit << PLACE_SHIFT | slot << (PLACE_SHIFT + 4);
}

static void set_place(granule_id range, uint32_t place) {
    link_set(range, (link_get(range) & ~PLACE_MASK) | place);
}

static ALWAYS_INLINE struct place find_place(granule_id range) {
    uint32_t link = link_get(range), unit = place_unit(link), slot = place_slot(link);
    invariant(unit != NO_PARENT); /* the authors' bug: a root has no siblings and no parent's word */
    return (struct place){&map.node[range + ((1 - slot) << unit)], unit, slot};
}

/* The codes with an END on either side: what is looked for is always found. */
static uint32_t fenced(uint32_t node) {
    return (node & ALL_SLOTS) << 3 | END | END << (3 * SLOTS + 3);
}

static unsigned code_at(uint32_t node, unsigned slot) {
    return fenced(node) >> (3 * slot + 3) & 7;
}

static uint32_t with_code(uint32_t node, unsigned slot, unsigned code) {
    return (node & ~(7u << (3 * slot))) | code << (3 * slot);
}

/* First slot after the child that begins at `slot`: the next code above 0, which is CONTINUES. */
static unsigned end_of(uint32_t node, unsigned slot) {
    return slot + 1 + (unsigned)__builtin_ctz(fenced(node) >> (3 * slot + 6)) / 3;
}

/* Where the left sibling of the child at `slot` begins; left of slot 0 is END at slot -1. */
static unsigned left_of(uint32_t node, unsigned slot) {
    return (unsigned)(31 - __builtin_clz(fenced(node) & ((8u << 3 * slot) - 1))) / 3 - 1;
}

void knit_root(granule_id root) {
    link_set(root, place_bits(NO_PARENT, 0));
}

bool knit_is_root(granule_id range) {
    return place_unit(link_get(range)) == NO_PARENT;
}

uint32_t knit_weight(granule_id range) {
    if (knit_is_root(range)) return ROOT_GRANULES;
    struct place place = find_place(range);
    uint32_t node = atomic_load_explicit(place.node, memory_order_relaxed);
    return (end_of(node, place.slot) - place.slot) << place.unit;
}

/* Puts a second child into the parent, at the slot where the right part begins. */
static void split_in_parent(const struct place *place, unsigned right_slot) {
    uint32_t node = atomic_load_explicit(place->node, memory_order_relaxed);
    invariant(code_at(node, place->slot) == IN_USE && code_at(node, right_slot) == CONTINUES);
    /* relaxed: nobody can look for the new child before its holder releases it or a neighbour's holder sees it in
     * use */
    while (!atomic_compare_exchange_weak_explicit(place->node, &node, with_code(node, right_slot, IN_USE),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Makes the range an internal node with two children. Its word is published with them, when they are released. */
static void split_in_new_node(granule_id range, uint32_t weight, unsigned unit, unsigned right_slot) {
    unsigned slots = weight >> unit;
    uint32_t node = link_get(range) & PLACE_MASK;
    for (unsigned slot = slots; slot < SLOTS; slot++) node = with_code(node, slot, END);
    node = with_code(with_code(node, 0, IN_USE), right_slot, IN_USE);
    atomic_store_explicit(&map.node[range + (1u << unit)], node, memory_order_relaxed);
    set_place(range, place_bits(unit, 0));
}

granule_id knit_split(granule_id range, uint32_t wanted) {
    uint32_t weight = knit_weight(range), left = wanted;
    unsigned unit = finest_unit(weight);
    invariant(wanted < weight && weight_round_up(wanted) == wanted && weight_round_up(weight) == weight);
    if (unit > coarsest_unit(wanted)) left = (wanted + (1u << unit) - 1) >> unit << unit;
    invariant(left < weight);
    granule_id right = range + left;
    if (!knit_is_root(range)) {
        struct place place = find_place(range);
        if (left % (1u << place.unit) == 0) {
            unsigned right_slot = place.slot + (left >> place.unit);
            link_set(right, place_bits(place.unit, right_slot));
            split_in_parent(&place, right_slot);
            return right;
        }
    }
    link_set(right, place_bits(unit, left >> unit));
    split_in_new_node(range, weight, unit, left >> unit);
    return right;
}

static enum slot_code acquire_at(record_word *word, unsigned slot) {
    uint32_t node = atomic_load_explicit(word, memory_order_relaxed);
    for (;;) {
        unsigned code = code_at(node, slot);
        if (code <= IN_USE) return IN_USE;
        /* [KN1] acquire: the range's words are the holder's; pairs [KN3] [KN4]; clients knit_acquire knit_left */
        if (atomic_compare_exchange_weak_explicit(word, &node, with_code(node, slot, IN_USE), memory_order_acquire,
                                                  memory_order_relaxed))
            return (enum slot_code)code;
    }
}

enum slot_code knit_acquire(granule_id range) {
    if (knit_is_root(range)) return LEFT; /* whoever takes a root from the Nest has it: it has no sibling to want it */
    struct place place = find_place(range);
    return acquire_at(place.node, place.slot);
}

static bool free_at(uint32_t node, unsigned slot, enum slot_code state) {
    unsigned code = code_at(node, slot);
    return code == state || code == LEFT;
}

granule_id knit_acquire_sibling(granule_id range, unsigned sides, enum slot_code state, enum slot_code *was) {
    if (knit_is_root(range)) return 0;
    struct place place = find_place(range);
    uint32_t node = atomic_load_explicit(place.node, memory_order_relaxed);
    for (;;) {
        unsigned slot = end_of(node, place.slot);
        if (!(sides & ON_THE_RIGHT && free_at(node, slot, state))) {
            slot = left_of(node, place.slot);
            if (!(sides & ON_THE_LEFT && free_at(node, slot, state))) return 0;
        }
        *was = (enum slot_code)code_at(node, slot);
        /* [KN2] acquire: as KN1; pairs [KN3] [KN4]; clients knit_acquire knit_release */
        if (atomic_compare_exchange_weak_explicit(place.node, &node, with_code(node, slot, IN_USE),
                                                  memory_order_acquire, memory_order_relaxed))
            return range + ((slot - place.slot) << place.unit);
    }
}

bool knit_release(granule_id range, enum slot_code state) {
    if (knit_is_root(range)) return true;
    struct place place = find_place(range);
    uint32_t node = atomic_load_explicit(place.node, memory_order_relaxed);
    for (;;) {
        invariant(code_at(node, place.slot) == IN_USE);
        if (code_at(node, left_of(node, place.slot)) == state) return false;
        if (code_at(node, end_of(node, place.slot)) == state) return false;
        /* [KN3] release: the range's words, to the next holder; pairs [KN1] [KN2]; client knit_acquire */
        if (atomic_compare_exchange_weak_explicit(place.node, &node, with_code(node, place.slot, state),
                                                  memory_order_release, memory_order_relaxed))
            return true;
    }
}

void knit_relinquish(granule_id range) {
    struct place place = find_place(range);
    uint32_t node = atomic_load_explicit(place.node, memory_order_relaxed);
    invariant(code_at(node, place.slot) == IN_USE);
    /* [KN4] release: as KN3; pairs [KN1] [KN2]; client knit_left */
    while (!atomic_compare_exchange_weak_explicit(place.node, &node, with_code(node, place.slot, LEFT),
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

granule_id knit_join(granule_id left, granule_id right) {
    struct place place = find_place(left);
    unsigned right_slot = place_slot(link_get(right));
    leaf_set(right, leaf_word(NONE, 0));
    uint32_t node = atomic_load_explicit(place.node, memory_order_relaxed), joined;
    do {
        invariant(code_at(node, place.slot) == IN_USE && code_at(node, right_slot) == IN_USE);
        joined = with_code(node, right_slot, CONTINUES);
        /* relaxed: both are held; the joined range is published when it is released */
    } while (
        !atomic_compare_exchange_weak_explicit(place.node, &node, joined, memory_order_relaxed, memory_order_relaxed));
    if (place.slot == 0 && code_at(joined, end_of(joined, 0)) == END) set_place(left, joined & PLACE_MASK);
    return left;
}
