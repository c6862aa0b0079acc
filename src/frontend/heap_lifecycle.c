/* heap_lifecycle.c - attaches, abandons and takes heaps: the stacks of abandoned ones, and the thread's end. */
#include "frontend/heap_lifecycle.h"

#include <string.h>

#include "backend/hardened_hooks.h"
#include "backend/reserve.h"
#include "backend/thrift.h"
#include "backend/thrift_counters.h"
#include "base/published.h"
#include "config/policy.h"
#include "frontend/disable.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_fork.h"
#include "frontend/heap_pool.h"
#include "frontend/heap_stacks.h"
#include "frontend/heap_table.h"
#include "frontend/size_map.h"
#include "frontend/thread_heap.h"
#include "midend/midend.h"
#include "platform/platform.h"

#if JW_HOSTED /* a call that comes after the thread's end takes a heap, and the host says again that the thread ends */
static void note_end(void) {
}
static bool is_counted(void) {
    return false;
}
bool heap_thread_has_ended(void) {
    return false;
}
void heap_thread_forget_start(void) {
}
#else
/* COUNTED: the thread's end is to be told (backend/reclaimer.h), also if it never gets a heap. */
static _Thread_local enum { UNKNOWN, COUNTED, HAS_ENDED } thread_life __attribute__((tls_model("initial-exec")));

static void note_end(void) {
    thread_life = HAS_ENDED;
}
static bool is_counted(void) {
    return thread_life == COUNTED;
}
bool heap_thread_has_ended(void) {
    return thread_life == HAS_ENDED;
}
void heap_thread_forget_start(void) {
    if (thread_life == COUNTED) thread_life = UNKNOWN;
}
#endif

static struct versioned_stack abandoned_stacks[2];
static _Atomic(uint32_t) waiting_stack; /* index of the waiting stack; relaxed: either stack will do */
static _Atomic(uint32_t) abandoned_count;
PUBLISHED(abandoned_count);

uint32_t heap_abandoned_count(void) {
    return NEAR_LOAD(abandoned_count);
}

void heap_push_abandoned(struct heap *heap, unsigned stack) {
    atomic_store_explicit(&heap->abandoned, true, memory_order_relaxed);
    heap_stack_push(&abandoned_stacks[stack], &abandoned_count, heap);
}

struct heap *heap_pop_abandoned(unsigned stack) {
    struct heap *heap = heap_stack_pop(&abandoned_stacks[stack], &abandoned_count);
    if (heap) atomic_store_explicit(&heap->abandoned, false, memory_order_relaxed);
    return heap;
}

/* Takes an abandoned heap of this generation. */
static struct heap *pop_of_this_generation(unsigned stack) {
    struct heap *heap;
    while ((heap = heap_pop_abandoned(stack)) && UNLIKELY(heap_is_older(heap))) heap_push_inherited(heap);
    return heap;
}

unsigned heap_waiting_stack(void) {
    return NEAR_LOAD(waiting_stack) & 1;
}

void heap_set_waiting_stack(unsigned stack) {
    atomic_store_explicit(&waiting_stack, stack, memory_order_relaxed);
}

/* Makes the heap's lists. All else is 0. */
static void begin_heap(struct heap *heap) {
    for (unsigned i = 0; i < MID_CACHES; i++) heap->mid_caches[i].heap = heap->number;
    heap->local[NO_CLASS].first = heap->local[DISABLED].first = LINK_END;
    size_map_start(heap);
    for (unsigned size_class = 0; size_class < SIZE_CLASS_COUNT; size_class++) {
        heap->local[size_class].first = LINK_END;
        heap->local[size_class].budget = heap->budget[size_class];
    }
}

static struct heap *new_heap(void) {
    struct heap *heap = heap_create();
    if (!heap) return NULL;
    heap_renew(heap);
    begin_heap(heap);
    return heap;
}

/* Clears all fields from `first` up to `behind`. */
#define CLEAR_FIELDS(heap, first, behind)                                                                              \
    memset(&(heap)->first, 0, offsetof(struct heap, behind) - offsetof(struct heap, first))

static void forget_sealed(struct heap *heap) {
    CLEAR_FIELDS(heap, local, abandoned_next);
    CLEAR_FIELDS(heap, pool, number);
    heap->cache_states = 0;
    memset(heap->mid_caches, 0, sizeof *heap - offsetof(struct heap, mid_caches));
    heap->reopened_taken = 0;
    heap->wants_slabs = false;
    begin_heap(heap);
}

void heaps_forget_sealed(void) {
    for (uint32_t number = heap_count(); number > 0; number--)
        if (heap_by_number(number)) forget_sealed(heap_by_number(number));
    /* the limits count heaps only: the tables of sealed roots are left out, as the roots are */
    other_bytes_add((intptr_t)(heap_count() * sizeof(struct heap) - other_bytes_in_use()));
}

struct heap *heap_take_or_create(void) {
    disable_wait();
    unsigned stack = heap_waiting_stack();
    struct heap *heap = pop_of_this_generation(stack);
    if (!heap) heap = pop_of_this_generation(!stack);
    return heap ? heap : new_heap();
}

static void abandon_quietly(struct heap *heap) {
    heap_push_abandoned(heap, heap_waiting_stack());
}

void heap_abandon(struct heap *heap) {
    abandon_quietly(heap);
    thrift_wake();
}

/* Prepares the heap of a thread that ends. True: there is work for a round. If the reclamation thread lives, or the
 * program's next thread is likely to come soon, a heap with many slabs stays as it is: that thread uses them, and a
 * round takes the rest. A heap with few slabs may need no round: it is collected until a slab turns out to be in use.
 * One such heap may also wait for the next thread where no round comes. */
static bool prepare_abandoned(struct heap *heap) {
    range_cache_shrink(&heap->range_cache, 1, 0);
    heap_take_all_incoming(heap); /* if the next thread sleeps, no thread would do it */
    bool looked_after = reclaimer_lives() || reclaimer_stopped_briefly();
    bool next = heap->in_use_count + heap->pool.count <= FEW_SLABS && heap_abandoned_count() == 0;
    if (next || (looked_after && heap->in_use_count <= FEW_SLABS)) heap_collect(heap, COLLECT_WHILE_FREE);
    else if (!looked_after) heap_collect(heap, COLLECT_SOME);
    bool left = looked_after && (heap->in_use_count > 0 || heap->pool.count >= POOL_ROUND_FROM);
    if (!left && !next) heap_place_pool(heap, false);
    return left || heap->in_use_count > 0;
}

static void thread_ends(void *value) {
    struct heap *heap = thread_heap() == value ? value : thread_heap(); /* after a fork: another heap, or none */
    bool none = heap == &no_heap; /* the thread never had one, or is the first thread of a fork's child */
    bool counted = none ? is_counted() : heap->thread_is_counted;
    note_end();
    if (!none) {
        atomic_store_explicit(&heap->thread, 0, memory_order_relaxed);
        if (JW_SECURE) hardened_hooks.thread_ends(heap);
        heap_enter(&no_heap);
    }
    if (reserve_is_mine()) reserve_mark(false);
    if (counted) reclaimer_thread_ends(); /* first: without our thread, the next step collects more */
    if (none) return;
    bool more = prepare_abandoned(heap);
    abandon_quietly(heap);
    if (more) thrift_wake();
}

void heap_push_drained(struct heap *heap) {
    if (heap->in_use_count > 0) {
        heap_push_inherited(heap);
        return;
    }
    midend_close(heap->mid_caches); /* their links had the key of the fork before */
    heap_renew(heap);
    abandon_quietly(heap);
}

struct heap *heap_attach(void) {
    if (UNLIKELY(heap_has_many_inherited())) heap_visit_inherited(heap_drain, heap_push_drained);
    struct heap *heap = heap_take_or_create();
    if (!heap) return NULL;
    heap_enter(heap);
    heap_note_thread();
    heap->thread_is_counted = is_counted() || reclaimer_thread_seen();
    heap->calls_back = false; /* a thread may have been cancelled in the callback */
    heap_begin_generation(heap);
    /* if the platform cannot report the thread's end, the heap stays with the thread */
    platform_on_thread_exit(thread_ends, heap);
    return heap;
}

#if !JW_HOSTED
void heap_thread_starts(void) {
    if (thread_heap() != &no_heap) return; /* counted with its heap: a wrapper of ours has allocated before */
    if (platform_on_thread_exit(thread_ends, &no_heap) && reclaimer_thread_seen()) thread_life = COUNTED;
}
#endif
