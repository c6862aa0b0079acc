/* quarantine.h - freed objects wait here before the allocator may give them out again. Each heap has a ring of
 * addresses, outside the objects. The oldest one leaves, and a new one changes places with a random one of the newest.
 * So an object leaves after at least seven eighths of the objects that fit (by bytes or by entries) less four, at a
 * moment that is random. Only the heap's thread uses the ring.
 */
#ifndef JW_QUARANTINE_H
#define JW_QUARANTINE_H

#include "frontend/heap.h"

/* Takes a closed object (entry.c): clears or fills it, and lets it wait or gives it to the allocator. */
void quarantine_push(char *object, size_t slot);

/* The same of an object with pages of its own (large.h). */
void quarantine_push_large(char *object, bool guarded);

/* Gives all objects of the heap's quarantine to the allocator. Called by the heap's thread. What the OS refuses to take
 * stays, for the next call or for the heap's next thread. */
void quarantine_drain(struct heap *heap);

#endif
