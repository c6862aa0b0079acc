/* quarantine.h - freed objects wait here before the allocator may give them out again. Each heap has a ring of
 * addresses, outside the objects, first in first out. Only the heap's thread uses it.
 */
#ifndef JW_QUARANTINE_H
#define JW_QUARANTINE_H

#include "frontend/heap.h"

/* Takes a closed object (entry.c): clears or fills it, and lets it wait or gives it to the allocator. */
void quarantine_push(char *object, size_t slot);

/* Gives all objects of the heap's quarantine to the allocator. Called by the heap's thread. */
void quarantine_leave(struct heap *heap);

#endif
