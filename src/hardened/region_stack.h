/* region_stack.h - a lock-free stack of held ranges, linked through their leaf words: push one, pop one.
 *
 *   word   | 63..32 version | 31..0 first range; 0: empty |
 *   leaf   HELD, with the next range where a free range has its previous one
 *
 *   transition   by           word                      order
 *   push(range)  any thread   first -> range            [RG1] release: publishes the range and its leaf
 *   pop()        any thread   first -> next             [RG2] acquire: the first range and its leaf; pairs RG1
 *                             version -> version + 1
 *
 * As sync/versioned_stack.h, with other links: a pop may read the leaf of a range that another thread has popped and
 * uses. Leaf words are atomic and stay mapped. Each pop raises the version, so the compare-exchange of the slow thread
 * fails then.
 * Invariant: the leaves from `first` lead to each range that was pushed and not popped, once.
 * Progress: lock-free; a loop repeats only when another thread changed the word.
 * Verified by verify/clients/region_stack.c. Used by hardened/regions.c. */
#ifndef JW_REGION_STACK_H
#define JW_REGION_STACK_H

#include "backend/page_map.h"

struct region_stack {
    _Atomic(uint64_t) first_range;
};

static inline void region_stack_push(struct region_stack *stack, granule_id range) {
    uint64_t old = atomic_load_explicit(&stack->first_range, memory_order_relaxed), new;
    do {
        leaf_set(range, leaf_with_previous(leaf_held(), (granule_id)old));
        new = (old & ~(uint64_t)UINT32_MAX) | range;
        /* [RG1] release: the range and its leaf; pairs [RG2]; client region_stack */
    } while (!atomic_compare_exchange_weak_explicit(&stack->first_range, &old, new, memory_order_release,
                                                    memory_order_relaxed));
}

/* The range that was pushed last; 0: the stack is empty. */
static inline granule_id region_stack_pop(struct region_stack *stack) {
    uint64_t old, new;
    do {
        /* [RG2] acquire: the first range and its leaf; pairs [RG1]; client region_stack */
        old = atomic_load_explicit(&stack->first_range, memory_order_acquire);
        if (!(uint32_t)old) return 0;
        granule_id next = leaf_previous(leaf_get((granule_id)old));
        new = ((old >> 32) + 1) << 32 | next;
        /* relaxed: no word comes twice, so success means the word that was just acquired */
    } while (!atomic_compare_exchange_weak_explicit(&stack->first_range, &old, new, memory_order_relaxed,
                                                    memory_order_relaxed));
    leaf_set((granule_id)old, leaf_held());
    return (granule_id)old;
}

static inline bool region_stack_is_empty(const struct region_stack *stack) {
    return (uint32_t)atomic_load_explicit(&stack->first_range, memory_order_relaxed) == 0;
}

#endif
