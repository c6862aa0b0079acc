/* quarantine.h - freed objects wait here before the allocator may give them out again. Each heap has a ring of
 * addresses, outside the objects. When it is full, some leave at once, each time a random one of the oldest. So an
 * object leaves at a random moment. Before it, at least 55 of 64 of the objects that fit (by bytes or by entries) have
 * come, less eight. Of each class a few of those that left wait for malloc (quarantine_ring.h), the others go to the
 * allocator. Only the heap's thread uses the ring.
 */
#ifndef JW_QUARANTINE_H
#define JW_QUARANTINE_H

#include "frontend/heap.h"

/* Takes a closed object (entry.c): clears or fills it, and lets it wait or gives it to the allocator. free does the
 * same by itself where it can (quarantine_may_put). */
void quarantine_push(char *object, size_t slot);

/* Takes a closed object that has pages of its own (large.h). */
void quarantine_push_large(char *object, bool guarded);

/* Gives all objects of the heap's quarantine, ready ones too, to the allocator. Called by the heap's thread. What
 * the OS refuses to take stays, for the next call or for the heap's next thread. */
void quarantine_drain(struct heap *heap);

/* The child of a fork begins: the thread's next heap will take over the quarantine of its present one. */
void quarantine_child_begins(void);

#endif
