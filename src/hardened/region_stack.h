/* region_stack.h - the stack of a class's empty slabs: held ranges in a sync/versioned_stack.h. A range's link is in
 * its leaf word: HELD, with the next range where a free range has its previous one.
 *
 * A pop may read the leaf of a range that another thread has popped and uses: leaf words stay mapped.
 * Verified by verify/clients/region_stack.c. Used by hardened/regions.c. */
#ifndef JW_REGION_STACK_H
#define JW_REGION_STACK_H

#include "backend/page_map.h"
#include "sync/versioned_stack.h"

static inline granule_id region_next(granule_id range) {
    return leaf_previous(leaf_get(range));
}

static inline void region_set_next(granule_id range, granule_id next) {
    leaf_set(range, leaf_with_previous(leaf_held(), next));
}

static inline void region_stack_push(struct versioned_stack *stack, granule_id range) {
    versioned_stack_push(stack, range, region_set_next);
}

/* The range that was pushed last, whose leaf has no link any more; 0: the stack is empty. */
static inline granule_id region_stack_pop(struct versioned_stack *stack) {
    granule_id range = versioned_stack_pop(stack, region_next);
    if (range) leaf_set(range, leaf_held());
    return range;
}

#endif
