/* heap_collect.h - a heap's periodic maintenance: takes what other threads have left for it, and looks for slabs whose
 * objects have all come back.
 *
 *   call                  when                                       how much
 *   heap_take_incoming    a refill finds no object                   a few reopened slabs, all suspects
 *   heap_maintain         each tick: a refill, or a budget that      once in COLLECT_PERIOD: heap_take_incoming, and
 *                         frees to a local list have spent           one class, a few steps;
 *                                                                    once in COLLECT_LONG_PERIOD: a whole local list
 *   heap_collect          a thread's end, a failed allocation        all classes
 *   heap_drain            a round, malloc_trim, a failed             all, and the pool goes back
 *                         allocation, many inherited heaps
 *
 * Only heap_collect, heap_drain and heap_take_all_incoming do work without a bound. malloc calls them in two cases:
 * memory is short (core/route.c), or a thread of a fork's child gets a heap while there are many inherited ones
 * (heap_attach). A thread's end takes all incoming. free and malloc may run a round that is due (thrift_take_turn).
 *
 * Called by the heap's thread, or by a thread that has a heap without a thread.
 */
#ifndef JW_HEAP_COLLECT_H
#define JW_HEAP_COLLECT_H

#include "config/policy.h"
#include "frontend/heap.h"
#include "frontend/heap_reopened.h"
#include "frontend/suspect.h"

/* Takes back reopened slabs, drains the mid caches, and looks for slabs without objects.
 *
 *   COLLECT_WHILE_FREE   as COLLECT_SOME, up to the first class that keeps a slab
 *   COLLECT_SOME         all current and a few partial slabs of each class
 *   COLLECT_ALL          all current and all partial slabs */
enum collect { COLLECT_WHILE_FREE, COLLECT_SOME, COLLECT_ALL };
void heap_collect(struct heap *heap, enum collect depth);

/* Takes back all reopened slabs, and settles all suspects. */
void heap_take_all_incoming(struct heap *heap);

/* Finds free objects in the heap's slabs. Called when there is no memory for another slab. */
void heap_collect_at_shortage(struct heap *heap);

/* A tick. Each COLLECT_PERIOD-th one collects one class. */
void heap_maintain(struct heap *heap);

/* Collects all of the heap, and places its empty slabs. heap_drain_own: the calling thread's heap, if it has one. */
void heap_drain(struct heap *heap);
void heap_drain_own(void);

struct purge;

/* A step of a purge (core/purge.h): collects the calling thread's heap, class by class. */
bool heap_purge_own(struct purge *purge);

/* Takes back a few reopened slabs, and settles all suspects. */
static ALWAYS_INLINE void heap_take_incoming(struct heap *heap) {
    if (UNLIKELY(heap_has_reopened(heap))) heap_take_reopened(heap, TAKE_AT_ONCE);
    if (UNLIKELY(heap_has_suspects(heap))) heap_settle_suspects(heap);
}

#endif
