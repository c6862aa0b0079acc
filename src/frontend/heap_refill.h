/* heap_refill.h - where a thread's next small object comes from when its local list is empty. In this order:
 *
 *   1. the freed list of the current slab, its cross list, its objects that were never given out
 *   2. the first partial slab of the class, after reopened slabs have been taken back
 *   3. an empty slab of the pool
 *   4. a new slab from the backend
 */
#ifndef JW_HEAP_REFILL_H
#define JW_HEAP_REFILL_H

#include "frontend/heap.h"

/* Fills the class's local list and allocates an object of it. NULL when there is no memory. */
void *heap_refill(struct heap *heap, unsigned class);

#endif
