/* heap_lifecycle.h - which thread has which heap, from a thread's first allocation to its end.
 *
 *   new         --a thread finds no abandoned heap-->      attached
 *   attached    --the thread ends-->                       abandoned, in the waiting stack
 *   abandoned   --another thread starts-->                 attached
 *   abandoned   --a round pops it and drains it-->         abandoned, in the other stack
 *
 *   abandoned_stacks[2]   stacks of heaps (sync/versioned_stack.h)
 *   waiting_stack         which of the two is the waiting stack
 *
 * Ending threads push to the waiting stack; starting threads pop from either. A round, in whichever thread, pops heaps
 * from the waiting stack. It drains what other threads have freed into them, places their empty slabs, and pushes them
 * to the other stack. Then that stack becomes the waiting one. A round holds at most half of the abandoned heaps,
 * rounded up, at a time: threads that start meanwhile take the rest. Without that bound each such meeting would make
 * new heaps, without end.
 *
 * Progress: lock-free. Clients heap_drain*, heap_take_map, heap_stack, owner_dies*, after_the_end.
 */
#ifndef JW_HEAP_LIFECYCLE_H
#define JW_HEAP_LIFECYCLE_H

#include "frontend/heap.h"

/* Gives the calling thread a heap. NULL when there is no memory. */
struct heap *heap_attach(void);

/* Called by a thread that the program has made, before it runs: its end is told to the reclamation thread, also if it
 * never gets a heap. */
void heap_thread_starts(void);

/* Called in the child of a fork, by its first thread: there the end of this thread is not told. */
void heap_thread_forget_start(void);

/* Whether the calling thread has ended as far as its heap is concerned. Later allocations, in other destructors of the
 * thread, take a heap for one operation and abandon it again. */
bool heap_thread_has_ended(void);

/* Takes an abandoned heap of this generation, else makes a new one. NULL when there is no memory. */
struct heap *heap_take_or_create(void);

/* Lets the next thread take the heap, and asks for a round. */
void heap_abandon(struct heap *heap);

/* Forgets all slabs, mid slabs and ranges of all heaps: their roots are sealed. Each heap is as a new one, but its
 * thread, key and stack stay. By a thread that is alone in the process. */
void heaps_forget_sealed(void);

/* Returns the number of abandoned heaps, or more. */
uint32_t heap_abandoned_count(void);

/* Where a drained heap of an older generation goes. A heap without slabs gets a key of this generation, and any thread
 * may take it. */
void heap_push_drained(struct heap *heap);

#endif
