/* heap_lifecycle.c - attaches, abandons and takes heaps, and drains the abandoned ones in rounds. */
#include "frontend/heap_lifecycle.h"

#include "backend/backend.h"
#include "backend/hooks.h"
#include "backend/reclaimer.h"
#include "config/policy.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_fork.h"
#include "frontend/heap_pool.h"
#include "frontend/remote_reclaim.h"
#include "frontend/size_map.h"
#include "frontend/suspect.h"
#include "platform/platform.h"
#include "sync/versioned_stack.h"

#if JW_HOSTED /* a call that comes after the thread's end takes a heap, and the host says again that the thread ends */
static void note_end(void) {
}
bool heap_thread_has_ended(void) {
    return false;
}
#else
static _Thread_local bool thread_has_ended __attribute__((tls_model("initial-exec")));

static void note_end(void) {
    thread_has_ended = true;
}
bool heap_thread_has_ended(void) {
    return thread_has_ended;
}
#endif

static struct versioned_stack abandoned[2];
static _Atomic(uint32_t) waiting; /* which of them; relaxed: either will do */
static _Atomic(uint32_t) abandoned_count;

uint32_t heap_abandoned_count(void) {
    return atomic_load_explicit(&abandoned_count, memory_order_relaxed);
}

static void push(struct heap *heap, unsigned stack) {
    atomic_store_explicit(&heap->abandoned, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&abandoned_count, 1,
                              memory_order_relaxed); /* before the push: the count is never too low */
    versioned_stack_push(&abandoned[stack], heap->number, heap_link_of);
}

static struct heap *pop(unsigned stack) {
    uint32_t number = versioned_stack_pop(&abandoned[stack], heap_link_of);
    if (!number) return NULL;
    atomic_fetch_sub_explicit(&abandoned_count, 1, memory_order_relaxed);
    struct heap *heap = heap_by_number(number);
    atomic_store_explicit(&heap->abandoned, false, memory_order_relaxed);
    return heap;
}

/* Takes an abandoned heap of this generation. */
static struct heap *pop_own(unsigned stack) {
    struct heap *heap;
    while ((heap = pop(stack)) && UNLIKELY(heap_is_older(heap))) heap_push_inherited(heap);
    return heap;
}

static unsigned waiting_stack(void) {
    return atomic_load_explicit(&waiting, memory_order_relaxed) & 1;
}

static struct heap *new_heap(void) {
    struct heap *heap = heap_create();
    if (!heap) return NULL;
    heap_renew(heap);
    for (unsigned i = 0; i < MID_CACHES; i++) heap->mid_caches[i].heap = heap->number;
    heap->local[NO_CLASS].first = LINK_END;
    size_map_start(heap);
    for (unsigned class = 0; class < SIZE_CLASS_COUNT; class ++) {
        heap->local[class].first = LINK_END;
        heap->local[class].budget = heap->budget[class];
    }
    return heap;
}

struct heap *heap_take(void) {
    unsigned stack = waiting_stack();
    struct heap *heap = pop_own(stack);
    if (!heap) heap = pop_own(!stack);
    return heap ? heap : new_heap();
}

static void abandon_quietly(struct heap *heap) {
    push(heap, waiting_stack());
}

void heap_abandon(struct heap *heap) {
    abandon_quietly(heap);
    thrift_wake();
}

/* The next thread can use the heap best as it is, and a round takes what that thread does not need. But no round is
 * asked for if hardly anything would be left for it. True: there is work for a round. */
static bool leave_heap(struct heap *heap) {
    bool looked_after = thrift_has_thread();
    at_hand_drain(&heap->at_hand, true);
    heap_take_back(heap); /* if the next thread sleeps, no thread would do it */
    if (!looked_after || heap->in_use_count <= SIZE_CLASS_COUNT) heap_collect(heap, COLLECT_CURRENT);
    bool left = looked_after && (heap->in_use_count > 0 || heap->pool.count >= POOL_ROUND_FROM);
    if (!left) heap_place_pool(heap);
    return left || heap->in_use_count > 0;
}

static void thread_ends(void *value) {
    struct heap *heap = thread_heap() == value ? value : thread_heap(); /* another one since a fork, or none */
    note_end();
    if (heap == &no_heap) return; /* the first thread of a fork's child */
    atomic_store_explicit(&heap->thread, 0, memory_order_relaxed);
    if (JW_SECURE) hardened_hooks.thread_ends(heap);
    heap_enter(&no_heap);
    if (heap->thread_counts) reclaimer_thread_ends(); /* before leave_heap: without the thread that collects more */
    bool more = leave_heap(heap);
    abandon_quietly(heap);
    if (more) thrift_wake();
}

void heap_push_drained(struct heap *heap) {
    if (heap->in_use_count > 0) {
        heap_push_inherited(heap);
        return;
    }
    heap_renew(heap);
    abandon_quietly(heap);
}

void heap_drain_if_freed_into(struct heap *heap) {
    if (!id_stack_is_empty(&heap->reopened)) heap_drain(heap);
}

struct heap *heap_attach(void) {
    if (UNLIKELY(heap_has_many_inherited())) heap_visit_inherited(heap_drain, heap_push_drained);
    struct heap *heap = heap_take();
    if (!heap) return NULL;
    heap_enter(heap);
    heap_note_thread();
    heap->thread_counts = reclaimer_thread_seen();
    heap_begin_generation(heap);
    /* if the platform cannot report the thread's end, the heap stays with the thread */
    platform_on_thread_exit(thread_ends, heap);
    return heap;
}

/* Takes up to `most` heaps from the stack and drains them before it pushes them to the other. 0: there was none. */
static unsigned drain_some(unsigned stack, uint32_t most, bool *more) {
    struct heap *drained = NULL, *heap;
    unsigned count = 0;
    for (; count < most && (heap = pop(stack)); count++) {
        heap_drain(heap);
        *more |= heap->in_use_count > 0;
        if (UNLIKELY(heap_is_older(heap))) heap_push_drained(heap);
        else heap_chain_push(&drained, heap);
    }
    while ((heap = heap_chain_pop(&drained))) push(heap, !stack);
    return count;
}

bool heap_drain_abandoned(void) {
    unsigned stack = waiting_stack();
    bool more = false;
    for (unsigned passes = 0; passes < DRAIN_PASSES; passes++)
        if (drain_some(stack, (heap_abandoned_count() + 1) / 2, &more) == 0) break;
    atomic_store_explicit(&waiting, !stack, memory_order_relaxed);
    return more;
}

/* Reclamation's round over the frontend: abandoned heaps, then slabs that other threads have emptied, then pools and
 * ranges at hand. */
static bool frontend_round(void) {
    bool more = heap_drain_abandoned();
    heap_visit_inherited(heap_drain_if_freed_into, heap_push_drained);
    bool soon = remote_reclaim_round(false);
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *heap = heap_by_number(number);
        more |= heap && heap_pool_round(heap);
        soon |= heap && at_hand_drain(&heap->at_hand, false);
    }
    if (soon) thrift_wake(); /* they are given back by the next round, at its usual time */
    return more | soon;
}

/* The same, when all free memory must go now. */
static bool frontend_purge(void) {
    bool more = heap_drain_abandoned();
    heap_visit_inherited(heap_drain, heap_push_drained);
    remote_reclaim_round(true);
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *heap = heap_by_number(number);
        if (!heap) continue;
        heap_place_pool(heap);
        at_hand_drain(&heap->at_hand, true);
    }
    return more;
}

static void settle_if_needed(struct heap *heap) {
    if (heap_has_suspects(heap)) heap_settle(heap);
}

/* Settles suspects of threads that make no further call: at exit is the last moment to report them. */
CALLED_AT_EXIT void settle_at_exit(void) {
    struct heap *first = NULL, *heap;
    settle_if_needed(thread_heap());
    for (uint32_t left = heap_abandoned_count(); left > 0 && (heap = heap_take()) != first; left--) {
        if (!heap) break;
        if (!first) first = heap;
        settle_if_needed(heap);
        heap_abandon(heap);
    }
    heap_visit_inherited(settle_if_needed, heap_push_inherited);
}

void heap_lifecycle_start(void) {
    thrift_on_round(ROUND_OBJECTS, frontend_round, frontend_purge);
}
