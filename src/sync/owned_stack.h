/* owned_stack.h - a stack of numbered elements: one thread, the owner, pushes and pops; any thread may take all.
 *
 *   first   number of the first element; 0: empty
 *
 *   transition   by           word                  order
 *   push(id)     the owner    old -> id             [OS1] release: publishes the element, whose link leads to old
 *   pop()        the owner    id -> 0               relaxed: the owner itself has pushed the elements
 *                             0 -> the next one     [OS2] release: publishes the rest again
 *   take_all()   any thread   id -> 0               [OS3] acquire: pairs OS1 OS2
 *
 * The caller stores an element's link (`next`, `set_next`).
 *
 * Invariant: only the owner makes the word other than 0. So between the two steps of a pop the word stays 0, and the
 * second step is a plain store. No ABA problem: elements leave by an exchange, alone or all together.
 * Progress: push is lock-free (it repeats only when another thread has taken all); pop and take_all are wait-free.
 * Verified by verify/clients/owned_stack_take.c. Used by a heap's pool of empty slabs (frontend/pool.h). */
#ifndef JW_OWNED_STACK_H
#define JW_OWNED_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct owned_stack {
    _Atomic(uint32_t) first;
};

typedef uint32_t owned_next(uint32_t id);
typedef void owned_set_next(uint32_t id, uint32_t next);

/* A hint; but if the owner finds the stack empty, it is. */
static ALWAYS_INLINE bool owned_stack_is_empty(const struct owned_stack *stack) {
    return atomic_load_explicit(&stack->first, memory_order_relaxed) == 0;
}

/* Returns the element that was the first before; 0: the stack was empty. */
static ALWAYS_INLINE uint32_t owned_stack_push(struct owned_stack *stack, uint32_t id, owned_set_next *set_next) {
    uint32_t first = atomic_load_explicit(&stack->first, memory_order_relaxed);
    do set_next(id, first);
    /* [OS1] release: the elements and their links; pairs [OS3]; client owned_stack_take */
    while (
        !atomic_compare_exchange_weak_explicit(&stack->first, &first, id, memory_order_release, memory_order_relaxed));
    return first;
}

/* Returns the element that was pushed last; 0: the stack is empty. */
static ALWAYS_INLINE uint32_t owned_stack_pop(struct owned_stack *stack, owned_next *next) {
    if (owned_stack_is_empty(stack)) return 0;
    /* relaxed: the owner itself has pushed what it finds */
    uint32_t first = atomic_exchange_explicit(&stack->first, 0, memory_order_relaxed);
    uint32_t rest = first ? next(first) : 0;
    /* [OS2] release: as OS1; pairs [OS3]; client owned_stack_take */
    if (rest) atomic_store_explicit(&stack->first, rest, memory_order_release);
    return first;
}

/* Returns the first element, which links to the others; 0: the stack was empty, or its owner was in a pop. */
static ALWAYS_INLINE uint32_t owned_stack_take_all(struct owned_stack *stack) {
    if (owned_stack_is_empty(stack)) return 0;
    /* [OS3] acquire: the elements and their links; pairs [OS1] [OS2]; client owned_stack_take */
    return atomic_exchange_explicit(&stack->first, 0, memory_order_acquire);
}

#endif
