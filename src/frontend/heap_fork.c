/* heap_fork.c - begins a generation in the child of a fork, and keeps the heaps that the child inherits. */
#include "frontend/heap_fork.h"

#include "config/options.h"
#include "config/policy.h"
#include "frontend/heap_key.h"
#include "frontend/heap_pool.h"
#include "frontend/heap_table.h"
#include "frontend/size_map.h"
#include "frontend/thread_heap.h"
#include "midend/midend.h"

static uint32_t this_generation;
static struct versioned_stack inherited_heaps;
static _Atomic(uint32_t) inherited_count;
static _Atomic(uint32_t) scatter_next; /* the next heap of the process gets its slabs in random order */

void heap_renew(struct heap *heap) {
    heap->key = heap_key(heap->number);
    heap->generation = this_generation;
}

bool heap_is_older(const struct heap *heap) {
    return heap->generation != this_generation;
}

void heap_push_inherited(struct heap *heap) {
    heap_stack_push(&inherited_heaps, &inherited_count, heap);
}

bool heap_has_many_inherited(void) {
    return NEAR_LOAD(inherited_count) > INHERITED_HEAPS;
}

void heap_visit_inherited(void (*visit)(struct heap *heap), void (*push)(struct heap *heap)) {
    struct heap *visited = NULL, *heap;
    while ((heap = heap_stack_pop(&inherited_heaps, &inherited_count))) {
        visit(heap);
        heap_chain_push(&visited, heap);
    }
    while ((heap = heap_chain_pop(&visited))) push(heap);
}

/* Opens all classes, as in a program's first heap (size_map.h). */
static COLD void open_all_classes(struct heap *heap) {
    for (unsigned size_class = 0; size_class < SIZE_CLASS_COUNT; size_class++) {
        if (heap->coarse_slabs[size_class] == 0) continue;
        heap->coarse_slabs[size_class] = 0;
        size_map_open(heap, size_class);
    }
}

void heap_begin_generation(struct heap *heap) {
    if (LIKELY(!NEAR_LOAD(scatter_next)) || !atomic_exchange_explicit(&scatter_next, false, memory_order_relaxed))
        return;
    open_all_classes(heap);
    heap_scatter(heap, (unsigned)heap_derived(heap->number, FOR_SCATTER) % SCATTER_SLABS);
}

COLD void heap_before_fork(void) {
    heap_keys_before_fork();
}

/* Makes the heap an inherited one. If a signal handler has forked, the malloc or free that it interrupted goes on with
 * this heap. */
static void make_inherited(struct heap *heap) {
    atomic_store_explicit(&heap->thread, 0, memory_order_relaxed);
    heap_enter(&no_heap);
    heap_push_inherited(heap);
}

COLD void heap_after_fork(bool child) {
    heap_keys_after_fork(child);
    if (!child) return;
    if (!option(&options.fresh_after_fork)) {
        heap_note_thread();
        thread_heap()->thread_is_counted = false; /* the child's first thread */
        return;
    }
    this_generation++;
    atomic_store_explicit(&scatter_next, true, memory_order_relaxed);
    slab_scatter_secret = heap_derived(0, FOR_SCATTER) | 1;
    mid_cache_renew_key(heap_derived(0, FOR_MIDEND));
    if (thread_heap() != &no_heap) make_inherited(thread_heap());
}
