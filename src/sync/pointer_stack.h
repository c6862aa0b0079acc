/* pointer_stack.h - a lock-free stack of elements that begin with their link: push some, take all.
 *
 *   first   address of the first element; NULL: empty
 *
 *   transition            by           word            order
 *   push(newest, oldest)  any thread   old -> newest   [PS1] release: publishes the elements; `oldest` links to old
 *   take_all()            any thread   first -> NULL   [PS2] acquire: pairs PS1
 *
 * This is id_stack.h for elements without a number: mappings and notes. One step pushes a whole chain of linked
 * elements.
 *
 * Invariant: the links from `first` lead to each element that was pushed and not taken, once, newest first.
 * No ABA problem: elements leave only all together, so a push never depends on what an old first element links to. No
 * thread reads an element that another thread has taken: its memory may be unmapped.
 * Progress: push is lock-free (it repeats only when another thread changed the word); take_all is wait-free.
 * Verified by verify/clients/pointer_stack_push_take.c. Used by deferred unmaps and suspect notes. */
#ifndef JW_POINTER_STACK_H
#define JW_POINTER_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* The first member of an element. */
struct stack_link {
    struct stack_link *next;
};

struct pointer_stack {
    _Atomic(struct stack_link *) first;
};

/* A hint: another thread may push or take at any time. */
static ALWAYS_INLINE bool pointer_stack_is_empty(const struct pointer_stack *stack) {
    return !atomic_load_explicit(&stack->first, memory_order_relaxed);
}

/* Pushes the chain from `newest` to `oldest`, which may be the same element. */
static inline void pointer_stack_push(struct pointer_stack *stack, struct stack_link *newest,
                                      struct stack_link *oldest) {
    struct stack_link *first = atomic_load_explicit(&stack->first, memory_order_relaxed);
    do oldest->next = first;
    /* [PS1] release: the elements and their links; pairs [PS2]; client pointer_stack_push_take */
    while (!atomic_compare_exchange_weak_explicit(&stack->first, &first, newest, memory_order_release,
                                                  memory_order_relaxed));
}

/* Returns the first element, which links to the others; NULL: the stack was empty. */
static inline struct stack_link *pointer_stack_take_all(struct pointer_stack *stack) {
    if (pointer_stack_is_empty(stack)) return NULL;
    /* [PS2] acquire: the elements and their links; pairs [PS1]; client pointer_stack_push_take */
    return atomic_exchange_explicit(&stack->first, NULL, memory_order_acquire);
}

#endif
