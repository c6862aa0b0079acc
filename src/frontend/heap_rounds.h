/* heap_rounds.h - the frontend's part of a round: abandoned heaps, inherited ones, and what each heap keeps.
 *
 * heap_lifecycle.h has the two stacks that a round moves abandoned heaps between.
 */
#ifndef JW_HEAP_ROUNDS_H
#define JW_HEAP_ROUNDS_H

#include "frontend/heap.h"
#include "platform/host.h"

/* Drains the abandoned heaps, for a round. True: slabs remain for a later round. */
bool heap_drain_abandoned(void);

/* Drains an inherited heap if the child has freed into its full slabs, for a round. Else the heap stays as it is: so a
 * quiet child shares its pages with the parent. A heap without slabs in use, which gets a new key next, is drained in
 * any case: its pool and its caches have links with the old key. */
void heap_drain_if_freed_into(struct heap *heap);

struct purge;

/* Steps of a purge (core/purge.h): the heaps of ended threads, heap by heap; then each heap's empty slabs and cached
 * ranges, heap by heap. */
bool heap_purge_ended(struct purge *purge);
bool heap_purge_caches(struct purge *purge);

/* Registers the frontend's part of a round. Called once, by the first slow path. */
void heap_rounds_start(void);

#if JW_HOSTED
void settle_at_exit(void); /* the host calls it (core/host_calls.h) */
#endif

#endif
