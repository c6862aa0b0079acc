/* heap_pool.h - what a heap does with its empty slabs: they wait in its pool (pool.h) for the next refill of any class.
 * Slabs above the pool's limit, and slabs that were long unused, go back to the backend.
 *
 *   heap's thread   heap_push_empty, heap_take_empty, heap_give_slabs_back
 *   a round         heap_pool_round: takes the pool of a thread that hardly uses it
 *   any thread      heap_give_back_pool: takes all
 */
#ifndef JW_HEAP_POOL_H
#define JW_HEAP_POOL_H

#include "frontend/heap.h"

/* Keeps an EMPTY slab, as far as the pool's limit allows. */
void heap_push_empty(struct heap *heap, struct slab *slab);

/* A slab without objects for that class, from the pool; NULL: none. */
struct slab *heap_take_empty(struct heap *heap, unsigned class);

/* The same from the backend. NULL when there is no memory. *zeroed: no byte of it was written yet. */
struct slab *heap_fetch_slab(struct heap *heap, unsigned class, bool *zeroed);

/* Gives so many slabs of the pool back. */
void heap_give_slabs_back(struct heap *heap, unsigned count);

/* Gives the whole pool back. By any thread. */
void heap_give_back_pool(struct heap *heap);

/* A round's look at the pool of a heap that may be another thread's. True: slabs remain for a later round. */
bool heap_pool_round(struct heap *heap);

/* Puts a random number of slabs into the pool, so that the next slabs come in another order than in a sibling's. */
void heap_scatter(struct heap *heap, unsigned count);

#endif
