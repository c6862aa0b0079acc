/* quarantine.h - freed objects that wait before the allocator may give them out again: a ring of addresses for each
 * heap, outside the objects, first in first out. Its thread's alone.
 */
#ifndef JW_QUARANTINE_H
#define JW_QUARANTINE_H

#include "frontend/heap.h"

/* Takes an object that is closed (entry.c): clears or fills it, and lets it wait or gives it to the allocator. */
void quarantine_push(char *object, size_t slot);

/* All that waits in the heap's quarantine goes to the allocator. By the heap's thread. */
void quarantine_leave(struct heap *heap);

#endif
