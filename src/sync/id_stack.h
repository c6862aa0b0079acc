/* id_stack.h - a lock-free stack of numbered elements: push one, take all.
 *
 *   first   | 31..24 zero | 23..0 id of the first element; 0: empty |
 *
 *   transition   by           word            order
 *   push(id)     any thread   old -> id       [IS1] release: publishes the element, whose link leads
 *                                            to old; acquire: see last_look
 *   take_all()   any thread   id -> 0         [IS2] acquire: pairs IS1
 *   last_look    any thread   unchanged       [IS3] release: pairs IS1's acquire
 *
 * The caller stores an element's link: `set_next` writes it. Only the thread that pushes writes the link, and only the
 * thread that took the stack reads it. So the link needs no order of its own.
 *
 * Invariant: the links from `first` lead to each element that was pushed and not taken, once, newest first.
 * No ABA problem: elements leave only all together, so a push never depends on what an old first element links to.
 * last_look: a thread that stops looking uses it. Either it sees an element, or the thread that pushes later sees all
 * that came before the look. So that thread also sees that no thread looks any more.
 * Progress: push is lock-free (it repeats only when another thread changed the word); the others are wait-free.
 * Verified by verify/clients/id_stack_push_take.c and id_stack_last_look.c. Used by deferred ranges and mid slabs,
 * reopened slabs, shut guards. */
#ifndef JW_ID_STACK_H
#define JW_ID_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct id_stack {
    _Atomic(uint32_t) first;
};

typedef void id_set_next(uint32_t id, uint32_t next);

/* A hint: another thread may push or take at any time. */
static ALWAYS_INLINE bool id_stack_is_empty(const struct id_stack *stack) {
    return atomic_load_explicit(&stack->first, memory_order_relaxed) == 0;
}

static ALWAYS_INLINE void id_stack_push(struct id_stack *stack, uint32_t id, id_set_next *set_next) {
    uint32_t first = atomic_load_explicit(&stack->first, memory_order_relaxed);
    do set_next(id, first);
    /* [IS1] release: the element and its link; acquire: what came before a last look that saw no element; pairs [IS2]
     * [IS3]; clients id_stack_push_take id_stack_last_look */
    while (
        !atomic_compare_exchange_weak_explicit(&stack->first, &first, id, memory_order_acq_rel, memory_order_relaxed));
}

/* Returns the first element, which links to the others; 0: the stack was empty. */
static ALWAYS_INLINE uint32_t id_stack_take_all(struct id_stack *stack) {
    if (id_stack_is_empty(stack)) return 0;
    /* [IS2] acquire: the elements and their links; pairs [IS1]; client id_stack_push_take */
    return atomic_exchange_explicit(&stack->first, 0, memory_order_acquire);
}

/* Whether the stack is empty, for a thread that will not look again. */
static inline bool id_stack_last_look_is_empty(struct id_stack *stack) {
    /* [IS3] release: all that this thread did before; pairs [IS1]; client id_stack_last_look */
    return atomic_fetch_add_explicit(&stack->first, 0, memory_order_release) == 0;
}

#endif
