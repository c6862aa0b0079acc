/* versioned_stack.h - a lock-free stack of numbered elements that are never freed: push one, pop one.
 *
 *   word   | 63..32 version | 31..0 number of the first element; 0: empty |
 *
 *   transition   by           word                      order
 *   push(id)     any thread   first -> id               [VS1] release: publishes the element, whose link leads to first
 *   pop()        any thread   first -> its link         [VS2] acquire: the first element and its link; pairs VS1
 *                             version -> version + 1
 *
 * The caller stores an element's link (`next`, `set_next`), relaxed, in an atomic word. A pop may read the link of an
 * element that another thread has popped already and uses, so the word must stay mapped.
 *
 * Invariant: the links from `first` lead to each element that was pushed and not popped, once.
 * ABA: an element may be popped and pushed again while another thread is in a pop. Each pop raises the version, so the
 * compare-exchange of the slow thread fails: no word comes twice within 2^32 pops. At 10^7 pops a second these take
 * seven minutes. A thread that is stopped in its pop for longer may go wrong, but only if the pops meanwhile are a
 * multiple of 2^32, and the same element is the first one again. If all numbers of pops are as likely as their
 * neighbours, the chance is at most one in 2^32.
 * Progress: lock-free; a loop repeats only when another thread changed the word.
 * Verified by verify/clients/versioned_stack_push_pop.c, and region_stack.c with links in leaf words. Used by abandoned
 * and inherited heaps (frontend/heap_table.c) and empty slabs (hardened/region_stack.h). */
#ifndef JW_VERSIONED_STACK_H
#define JW_VERSIONED_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct versioned_stack {
    _Atomic(uint64_t) word;
};

typedef uint32_t versioned_next(uint32_t id);
typedef void versioned_set_next(uint32_t id, uint32_t next);

/* A hint: another thread may push or pop at any time. */
static ALWAYS_INLINE bool versioned_stack_is_empty(const struct versioned_stack *stack) {
    return (uint32_t)atomic_load_explicit(&stack->word, memory_order_relaxed) == 0;
}

static ALWAYS_INLINE void versioned_stack_push(struct versioned_stack *stack, uint32_t id,
                                               versioned_set_next *set_next) {
    uint64_t old = atomic_load_explicit(&stack->word, memory_order_relaxed), new;
    do {
        set_next(id, (uint32_t)old);
        new = (old & ~(uint64_t)UINT32_MAX) | id;
        /* [VS1] release: the element and its link; pairs [VS2]; clients versioned_stack_push_pop region_stack */
    } while (
        !atomic_compare_exchange_weak_explicit(&stack->word, &old, new, memory_order_release, memory_order_relaxed));
}

/* Returns the element that was pushed last; 0: the stack is empty. */
static ALWAYS_INLINE uint32_t versioned_stack_pop(struct versioned_stack *stack, versioned_next *next) {
    uint64_t old, new;
    do {
        /* [VS2] acquire: the first element and its link; pairs [VS1]; clients versioned_stack_push_pop region_stack */
        old = atomic_load_explicit(&stack->word, memory_order_acquire);
        if (!(uint32_t)old) return 0;
        new = ((old >> 32) + 1) << 32 | next((uint32_t)old);
        /* relaxed: no word comes twice (see ABA), so success means the word that was just acquired */
    } while (
        !atomic_compare_exchange_weak_explicit(&stack->word, &old, new, memory_order_relaxed, memory_order_relaxed));
    return (uint32_t)old;
}

#endif
