/* heap_table.h - all heaps of the process, by number. A heap's memory stays mapped, so a number stays good.
 *
 *   heap_chunks[]   NULL -> memory of JW_HEAPS_PER_CHUNK heaps, by compare-exchange of a thread that needs it
 *   heaps_created   + 1 by compare-exchange: the new number is the right to that heap. Number 0 is never used
 *
 * Progress: lock-free. Client heap_create.
 */
#ifndef JW_HEAP_TABLE_H
#define JW_HEAP_TABLE_H

#include "frontend/heap_key.h"
#include "frontend/slab.h"
#include "sync/versioned_stack.h"

struct heap;

/* Makes a heap: all its fields are 0, except for its number. NULL: there is no memory. */
struct heap *heap_create(void);

/* heap_count: the highest number so far. heap_by_number: the heap with that number (1 on); NULL: it has no memory
 * yet. */
uint32_t heap_count(void);
struct heap *heap_by_number(uint32_t number);

/* The heap that a slab belongs to. */
static inline struct heap *heap_of(const struct slab *slab) {
    uintptr_t key = relaxed_load(&slab->key);
    return heap_by_number(key ? key_number(key) : 0); /* key 0: no slab; heap 0 is never used */
}

/* A stack of heaps. `count` counts those of the stack, or of several, and is never too low. Pop returns NULL when there
 * is none. */
void heap_stack_push(struct versioned_stack *stack, _Atomic(uint32_t) *count, struct heap *heap);
struct heap *heap_stack_pop(struct versioned_stack *stack, _Atomic(uint32_t) *count);

/* A chain of heaps that one thread has, linked by the same word as the stacks. Pop returns NULL when there is none. */
void heap_chain_push(struct heap **first, struct heap *heap);
struct heap *heap_chain_pop(struct heap **first);

#endif
