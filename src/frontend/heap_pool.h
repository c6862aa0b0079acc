/* heap_pool.h - what a heap does with its empty slabs: they wait in its pool (pool.h) for the next refill of any class.
 * Slabs above the pool's limit, and slabs that were long unused, go back to the backend.
 *
 *   heap's thread   heap_push_empty, heap_pop_empty, heap_place_empty
 *   a round         heap_pool_round: gives back the pool of a thread that hardly uses it
 *   any thread      heap_place_pool: takes all
 */
#ifndef JW_HEAP_POOL_H
#define JW_HEAP_POOL_H

#include "frontend/heap.h"

/* Pushes an EMPTY slab to the pool. If the pool is above its limit then, places a few slabs in the backend. */
void heap_push_empty(struct heap *heap, struct slab *slab);

/* Pops a slab of the pool and makes it one of that class. NULL: there is none. */
struct slab *heap_pop_empty(struct heap *heap, unsigned class);

/* Fetches a slab of that class from the backend. A heap with many slabs fetches some more with it, which it pushes
 * to its pool (FETCHED_PART). NULL: there is no memory. */
struct slab *heap_fetch_slab(struct heap *heap, unsigned class);

/* Places up to `count` slabs of the pool in the backend. */
void heap_place_empty(struct heap *heap, unsigned count);

/* Places all slabs of the pool in the backend. `give_back`: their pages go back to the OS first. Slabs that were
 * emptied one after the other often lie side by side; then their pages go back together. By any thread. */
void heap_place_pool(struct heap *heap, bool give_back);

/* Gives back the pool of a heap, which may be another thread's, if it had little use since the last round. Its pages
 * need not wait for another round. `now`: whatever use it had. Called by a round. True: slabs remain for a later
 * round. */
wide_bool heap_pool_round(struct heap *heap, bool now);

/* Pushes up to `count` new slabs, so that the next slabs come in another order than in a sibling's. */
void heap_scatter(struct heap *heap, unsigned count);

#endif
