/* heap_lifecycle.c - where heaps come from and where they go when their thread ends.
 *
 * abandoned[2]: two stacks of heaps without a thread (sync/versioned_stack.h). Ending threads push to the waiting
 * stack; starting ones pop from either. Once a round the reclamation thread takes heaps from the waiting stack, drains
 * what other threads have freed into them, gives their empty slabs back, and pushes them to the other stack, which then
 * becomes the waiting one. It holds no more than half of them at a time: threads that start meanwhile find the rest,
 * where they would else make new heaps at every such meeting, without end.
 */
#include "backend/backend.h"
#include "backend/hooks.h"
#include "backend/reclaimer.h"
#include "base/mixed.h"
#include "config/policy.h"
#include "frontend/heap.h"
#include "frontend/remote_reclaim.h"
#include "platform/fence.h"
#include "sync/versioned_stack.h"

enum { CHUNK_HEAPS = JW_HEAPS_PER_CHUNK, CHUNKS = 4096 };

#define NO_KEY 1u /* no slab's */

_Static_assert((uint64_t)CHUNKS *CHUNK_HEAPS <= KEY_NEVER_ZERO, "a heap's number fits in a key and in a leaf");

static uint64_t heap_secret; /* of the keys' upper halves */

/* Its lower half no other heap has, and never 0. The upper half is the heap's own where a slab has room for all of the
 * key, so that a link which a program reads tells the keys of no other heap. */
static uint64_t heap_key(uint32_t number) {
    uint64_t key = frontend_key ^ (number | (~(uint32_t)frontend_key & KEY_NEVER_ZERO));
    if (sizeof(uintptr_t) < sizeof key) return key;
    return link_key_of((mixed(heap_secret + number) & ~(uint64_t)UINT32_MAX) | (uint32_t)key);
}

struct heap no_heap = {
    .local = {[0 ... SIZE_CLASS_COUNT] = {.first = LINK_END}}, .map = {NO_CLASS * FREE_TARGET_WORDS}, .key = NO_KEY};
_Thread_local struct thread thread __attribute__((tls_model("initial-exec"))) = {.heap = &no_heap, .key = NO_KEY};
static _Thread_local bool thread_has_ended __attribute__((tls_model("initial-exec")));

static _Atomic(struct heap *) chunks[CHUNKS];
static _Atomic(uint32_t) created;
static struct versioned_stack abandoned[2];
static _Atomic(uint32_t) waiting; /* which of them; relaxed: either will do */
static _Atomic(uint32_t) abandoned_count;

uint32_t heap_count(void) {
    return atomic_load_explicit(&created, memory_order_relaxed);
}

uint32_t heap_abandoned_count(void) {
    return atomic_load_explicit(&abandoned_count, memory_order_relaxed);
}

struct heap *heap_by_number(uint32_t number) {
    /* [CH1] acquire: the chunk is mapped; pairs [CH2]; client heap_create */
    struct heap *chunk = atomic_load_explicit(&chunks[number / CHUNK_HEAPS], memory_order_acquire);
    return chunk ? &chunk[number % CHUNK_HEAPS] : NULL;
}

bool heap_thread_has_ended(void) {
    return thread_has_ended;
}

/* Memory for the heap of that number. */
static bool make_chunk(uint32_t number) {
    if (number / CHUNK_HEAPS >= CHUNKS) return false;
    if (heap_by_number(number)) return true;
    struct heap *expected = NULL;
    size_t page = platform_page_size(), size = (sizeof(struct heap) * CHUNK_HEAPS + page - 1) & ~(page - 1);
    struct heap *chunk = fenced_reserve(size, "jwmalloc: heaps");
    if (!chunk) return false;
    platform_huge_pages(chunk, size, false);
    /* [CH2] release: the chunk is mapped; pairs [CH1]; client heap_create */
    if (!atomic_compare_exchange_strong_explicit(&chunks[number / CHUNK_HEAPS], &expected, chunk, memory_order_release,
                                                 memory_order_relaxed))
        fenced_release(chunk, size);
    return true;
}

static struct heap *create(void) {
    uint32_t number = heap_count();
    do {
        if (!make_chunk(number + 1)) return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&created, &number, number + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    struct heap *heap = heap_by_number(++number);
    heap->number = number;
    heap->key = heap_key(number);
    for (unsigned i = 0; i < MID_CACHES; i++) heap->mid_caches[i].heap = number;
    heap->local[NO_CLASS].first = LINK_END;
    heap->map[0] = NO_CLASS * FREE_TARGET_WORDS;
    for (unsigned class = 0, size = 1; class < SIZE_CLASS_COUNT; class ++) {
        heap->local[class].first = LINK_END;
        heap->local[class].budget = size_classes[class].budget;
        for (; size <= size_classes[class].size; size++) heap->map[size] = (uint8_t)(class * FREE_TARGET_WORDS);
    }
    return heap;
}

static _Atomic(uint32_t) *abandoned_link_of(uint32_t number) {
    return &heap_by_number(number)->abandoned_next;
}

static void push(struct heap *heap, unsigned stack) {
    atomic_store_explicit(&heap->abandoned, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&abandoned_count, 1,
                              memory_order_relaxed); /* first: the count is never below the truth */
    versioned_stack_push(&abandoned[stack], heap->number, abandoned_link_of);
}

static struct heap *pop(unsigned stack) {
    uint32_t number = versioned_stack_pop(&abandoned[stack], abandoned_link_of);
    if (!number) return NULL;
    atomic_fetch_sub_explicit(&abandoned_count, 1, memory_order_relaxed);
    struct heap *heap = heap_by_number(number);
    atomic_store_explicit(&heap->abandoned, false, memory_order_relaxed);
    return heap;
}

static unsigned waiting_stack(void) {
    return atomic_load_explicit(&waiting, memory_order_relaxed) & 1;
}

struct heap *heap_take(void) {
    unsigned stack = waiting_stack();
    struct heap *heap = pop(stack);
    if (!heap) heap = pop(!stack);
    return heap ? heap : create();
}

void heap_retire(struct heap *heap) {
    push(heap, waiting_stack());
    thrift_wake();
}

/* As it is, the heap is worth most to the next thread, and a round comes for what that does not need. But none is asked
 * for where hardly anything would be left. True: there is work for a round. */
static bool leave(struct heap *heap) {
    bool looked_after = thrift_has_thread();
    heap_take_back(heap); /* if the next thread sleeps, no thread would do it */
    if (!looked_after || heap->in_use_count <= SIZE_CLASS_COUNT) heap_collect(heap, COLLECT_CURRENT);
    bool left = looked_after && (heap->in_use_count > 0 || heap->pool.count >= POOL_ROUND_FROM);
    if (!left) heap_give_back_pool(heap);
    return left || heap->in_use_count > 0;
}

static void thread_ends(void *value) {
    struct heap *heap = value;
    thread_has_ended = true;
    atomic_store_explicit(&heap->thread, 0, memory_order_relaxed);
    if (JW_SECURE) hardened_hooks.thread_ends(heap);
    heap_enter(&no_heap);
    reclaimer_thread_ends(); /* first: without the thread more is to be collected */
    bool more = leave(heap);
    push(heap, waiting_stack());
    if (more) thrift_wake();
}

void heap_note_thread(void) {
    if (thread.heap != &no_heap)
        atomic_store_explicit(&thread.heap->thread, platform_thread_id(), memory_order_relaxed);
}

struct heap *heap_attach(void) {
    struct heap *heap = heap_take();
    if (!heap) return NULL;
    heap_enter(heap);
    heap_note_thread();
    /* where the platform cannot tell us of the thread's end, its heap stays with it */
    platform_on_thread_exit(thread_ends, heap);
    return heap;
}

/* Takes up to `most` heaps from the stack and drains them before it pushes them to the other. 0: there was none. */
static unsigned drain_some(unsigned stack, uint32_t most, bool *more) {
    struct heap *drained = NULL, *heap;
    unsigned count = 0;
    for (; count < most && (heap = pop(stack)); count++) {
        heap_collect(heap, COLLECT_ALL);
        heap_give_back_pool(heap);
        *more |= heap->in_use_count > 0;
        atomic_store_explicit(&heap->abandoned_next, drained ? drained->number : 0, memory_order_relaxed);
        drained = heap;
    }
    while ((heap = drained)) {
        uint32_t next = atomic_load_explicit(&heap->abandoned_next, memory_order_relaxed);
        drained = next ? heap_by_number(next) : NULL;
        push(heap, !stack);
    }
    return count;
}

/* A round over the heaps that rest. True: slabs remain for a later round. */
static bool drain_abandoned(void) {
    unsigned stack = waiting_stack();
    bool more = false;
    for (unsigned passes = 0; passes < DRAIN_PASSES; passes++)
        if (drain_some(stack, (heap_abandoned_count() + 1) / 2, &more) == 0) break;
    atomic_store_explicit(&waiting, !stack, memory_order_relaxed);
    return more;
}

/* Reclamation's round over the frontend: what rests, then slabs that others have emptied, then all pools. */
static bool frontend_round(void) {
    bool more = drain_abandoned();
    if (remote_reclaim_round(false)) {
        thrift_wake(); /* they are given back by the next round, at its usual time */
        more = true;
    }
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *heap = heap_by_number(number);
        more |= heap && heap_pool_round(heap);
    }
    return more;
}

/* The same where all is to go now. */
static bool frontend_purge(void) {
    bool more = drain_abandoned();
    remote_reclaim_round(true);
    for (uint32_t number = 1; number <= heap_count(); number++) {
        struct heap *heap = heap_by_number(number);
        if (heap) heap_give_back_pool(heap);
    }
    return more;
}

void heap_lifecycle_start(void) {
    frontend_key = link_key_of(platform_random());
    heap_secret = platform_random();
    thrift_on_round(ROUND_OBJECTS, frontend_round, frontend_purge);
}
