/* heap_stacks.h - what rounds (heap_rounds.c) do with the two stacks of abandoned heaps (heap_lifecycle.c). */
#ifndef JW_HEAP_STACKS_H
#define JW_HEAP_STACKS_H

#include "frontend/heap.h"

/* Pushes a heap that has no thread. */
void heap_push_abandoned(struct heap *heap, unsigned stack);

/* Pops any heap of that stack, also one of an older generation. NULL: there is none. */
struct heap *heap_pop_abandoned(unsigned stack);

/* Returns the stack that ending threads push to; sets it. */
unsigned heap_waiting_stack(void);
void heap_set_waiting_stack(unsigned stack);

#endif
