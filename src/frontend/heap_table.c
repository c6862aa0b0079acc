/* heap_table.c - makes memory for heaps, and finds heaps by number. */
#include "frontend/heap_table.h"

#include "backend/thrift_counters.h"
#include "base/align.h"
#include "base/near.h"
#include "base/published.h"
#include "config/policy.h"
#include "frontend/heap.h"
#include "platform/fence.h"
#include "platform/platform.h"

enum { CHUNK_HEAPS = JW_HEAPS_PER_CHUNK };

_Static_assert((uint64_t)HEAP_CHUNKS *CHUNK_HEAPS <= 1u << KEY_NUMBER_BITS,
               "a heap's number fits in a key and in a leaf");

static _Atomic(struct heap *) heap_chunks[HEAP_CHUNKS];
static _Atomic(uint32_t) heaps_created;
PUBLISHED(heap_chunks);
PUBLISHED(heaps_created);

uint32_t heap_count(void) {
    return NEAR_LOAD(heaps_created);
}

struct heap *heap_by_number(uint32_t number) {
    /* [CH1] acquire: the chunk is mapped; pairs [CH2]; client heap_create */
    struct heap *chunk = atomic_load_explicit(&heap_chunks[number / CHUNK_HEAPS], memory_order_acquire);
    return chunk ? &chunk[number % CHUNK_HEAPS] : NULL;
}

/* The number of the next heap in the same stack. */
static uint32_t heap_next(uint32_t number) {
    return atomic_load_explicit(&heap_by_number(number)->abandoned_next, memory_order_relaxed);
}

static void heap_set_next(uint32_t number, uint32_t next) {
    atomic_store_explicit(&heap_by_number(number)->abandoned_next, next, memory_order_relaxed);
}

void heap_stack_push(struct versioned_stack *stack, _Atomic(uint32_t) *count, struct heap *heap) {
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed); /* before the push: never too low */
    versioned_stack_push(stack, heap->number, heap_set_next);
}

struct heap *heap_stack_pop(struct versioned_stack *stack, _Atomic(uint32_t) *count) {
    uint32_t number = versioned_stack_pop(stack, heap_next);
    if (!number) return NULL;
    atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
    return heap_by_number(number);
}

void heap_chain_push(struct heap **first, struct heap *heap) {
    atomic_store_explicit(&heap->abandoned_next, *first ? (*first)->number : 0, memory_order_relaxed);
    *first = heap;
}

struct heap *heap_chain_pop(struct heap **first) {
    struct heap *heap = *first;
    uint32_t next = heap ? atomic_load_explicit(&heap->abandoned_next, memory_order_relaxed) : 0;
    *first = next ? heap_by_number(next) : NULL;
    return heap;
}

/* Maps the memory of the heap with that number, if there is none yet. */
static bool make_chunk(uint32_t number) {
    if (number / CHUNK_HEAPS >= HEAP_CHUNKS) return false;
    if (heap_by_number(number)) return true;
    struct heap *expected = NULL;
    size_t size = align_up(sizeof(struct heap) * CHUNK_HEAPS, platform_page_size());
    struct heap *chunk = fenced_reserve(size, "jwmalloc: heaps");
    if (!chunk) return false;
    platform_huge_pages(chunk, size, false);
    /* [CH2] release: the chunk is mapped; pairs [CH1]; client heap_create */
    if (!atomic_compare_exchange_strong_explicit(&heap_chunks[number / CHUNK_HEAPS], &expected, chunk,
                                                 memory_order_release, memory_order_relaxed))
        fenced_unmap(chunk, size);
    return true;
}

struct heap *heap_create(void) {
    uint32_t number = heap_count();
    do {
        if (!make_chunk(number + 1)) return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&heaps_created, &number, number + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    struct heap *heap = heap_by_number(++number);
    heap->number = number;
    other_bytes_add(sizeof *heap);
    return heap;
}
