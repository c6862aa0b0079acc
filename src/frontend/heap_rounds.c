/* heap_rounds.c - the frontend's part of rounds and purges: drains heaps without a thread, and looks at all others. */
#include "frontend/heap_rounds.h"

#include "backend/thrift.h"
#include "backend/timed_purge.h"
#include "config/policy.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_fork.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/heap_pool.h"
#include "frontend/heap_stacks.h"
#include "frontend/heap_table.h"
#include "frontend/remote_reclaim.h"
#include "frontend/suspect.h"
#include "frontend/thread_heap.h"
#include "midend/midend.h"
#include "platform/host.h"

/* Takes up to `most` heaps from the stack, drains all of them, then pushes them to the other stack. Returns how
 * many. */
static unsigned drain_some(unsigned stack, uint32_t most, bool *more) {
    struct heap *drained = NULL, *heap;
    unsigned count = 0;
    for (; count < most && (heap = heap_pop_abandoned(stack)); count++) {
        heap_drain(heap);
        *more |= heap->in_use_count > 0;
        if (UNLIKELY(heap_is_older(heap))) heap_push_drained(heap);
        else heap_chain_push(&drained, heap);
    }
    while ((heap = heap_chain_pop(&drained))) heap_push_abandoned(heap, !stack);
    return count;
}

bool heap_drain_abandoned(void) {
    unsigned stack = heap_waiting_stack();
    bool more = false;
    for (unsigned passes = 0; passes < DRAIN_PASSES; passes++)
        if (drain_some(stack, (heap_abandoned_count() + 1) / 2, &more) == 0) break;
    heap_set_waiting_stack(!stack);
    return more;
}

void heap_drain_if_freed_into(struct heap *heap) {
    if (heap->in_use_count == 0 || !id_stack_is_empty(&heap->reopened)) heap_drain(heap);
}

/* A pass over the frontend: abandoned heaps, then slabs that other threads have emptied, then pools and range caches.
 * `now`: all free memory must go now. */
static wide_bool frontend_round(wide_bool now) {
    wide_bool more = heap_drain_abandoned();
    heap_visit_inherited(now ? heap_drain : heap_drain_if_freed_into, heap_push_drained);
    wide_bool soon = remote_reclaim_round(now);
    more |= remote_reclaim_waits();
    unsigned held = 0;
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *heap = heap_by_number(number);
        if (!heap) continue;
        more |= heap_pool_round(heap, now);
        soon |= range_cache_drain(&heap->range_cache, now);
        held += midend_round_of_caches(heap->mid_caches, now);
    }
    soon |= held >= MID_ROUND_FROM;
    if (soon) thrift_wake(); /* they are given back by the next round, at its usual time */
    return more | soon;
}

bool heap_purge_ended(struct purge *purge) {
    unsigned stack = heap_waiting_stack();
    bool more = false;
    for (uint32_t left = heap_abandoned_count(); left > 0 && drain_some(stack, 1, &more) > 0; left--)
        if (purge_is_over(purge)) return false;
    heap_set_waiting_stack(!stack);
    heap_visit_inherited(heap_drain, heap_push_drained);
    return true;
}

bool heap_purge_caches(struct purge *purge) {
    while (purge->place < heap_count()) {
        struct heap *heap = heap_by_number(++purge->place);
        if (!heap) continue;
        heap_pool_round(heap, true);
        range_cache_drain(&heap->range_cache, true);
        midend_round_of_caches(heap->mid_caches, true);
        if (purge_is_over(purge)) return false;
    }
    return true;
}

static void settle_if_needed(struct heap *heap) {
    if (heap_has_suspects(heap)) heap_settle_suspects(heap);
}

/* Settles suspects of threads that make no further call: exit is the last moment to report a double free. */
CALLED_AT_EXIT void settle_at_exit(void) {
    struct heap *first = NULL, *heap;
    settle_if_needed(thread_heap());
    for (uint32_t left = heap_abandoned_count(); left > 0 && (heap = heap_take_or_create()) != first; left--) {
        if (!heap) break;
        if (!first) first = heap;
        settle_if_needed(heap);
        heap_abandon(heap);
    }
    heap_visit_inherited(settle_if_needed, heap_push_inherited);
}

/* Slabs that other threads have emptied wait for their owner, which takes them back when it refills a class. A thread
 * that goes over to larger objects refills none. Before each fetch, not only before one of new memory: until the slabs
 * are taken back they count as in use. If the fetches used what is cached first, the peak of what is in use would grow
 * with each change of the size. A program whose other thread freed 60 MB each time came to 121 MB. */
static COLD void place_incoming(uint32_t granules) {
    struct heap *heap = thread_heap();
    if (CLASSES_APART || !heap_has_reopened(heap)) return; /* no_heap has none */
    heap_take_reopened(heap, granules + TAKE_AT_ONCE);
    heap_place_pool(heap, false);
}

void heap_rounds_start(void) {
    thrift_on_round(ROUND_OBJECTS, frontend_round);
    atomic_store_explicit(&thrift_on_fetch, place_incoming, memory_order_relaxed);
}
