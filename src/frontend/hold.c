/* hold.c - holds off, waits, lets go (hold.h). */
#include "frontend/hold.h"

#include "config/policy.h"
#include "frontend/heap_table.h"
#include "frontend/thread_heap.h"
#include "platform/platform.h"

static _Atomic(uint32_t) heap_holder;

COLD void hold_wait(void) {
    uint32_t holder;
    /* [HO3] acquire: what the holder did; pairs [HO4]; client hold_waits */
    while ((holder = atomic_load_explicit(&heap_holder, memory_order_acquire)) != 0 && holder != thread_heap()->number)
        platform_futex_wait(&heap_holder, holder, HOLD_WAIT);
}

COLD void hold_look(void) {
    /* [HO2] fence: the entries, before the look at the holder; pairs [HO1]; client hold_write */
    atomic_thread_fence(memory_order_seq_cst);
    hold_wait();
}

static void mark_held_off(struct heap *heap) {
    for (unsigned size = 0; size <= FRONTEND_MAX; size++)
        __atomic_store_n(&heap->size_map[size], (uint8_t)(HELD_OFF * FREE_TARGET_WORDS), __ATOMIC_RELAXED);
}

/* False: there is another holder. */
static bool become_holder(uint32_t own) {
    uint32_t before = 0;
    return atomic_compare_exchange_strong_explicit(&heap_holder, &before, own, memory_order_relaxed,
                                                   memory_order_relaxed) ||
           before == own;
}

COLD void hold_others(void) {
    uint32_t own = thread_heap()->number;
    do hold_wait();
    while (!become_holder(own));
    /* [HO1] fence: the holder, before HELD_OFF; what the last holder did; pairs [HO2] [HO4]; client hold_write */
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t number = heap_count(); number > 0; number--) {
        struct heap *heap = heap_by_number(number);
        /* [HO6] acquire: the map's first entries; pairs [HO5]; client hold_new */
        if (heap && number != own && atomic_load_explicit(&heap->has_map, memory_order_acquire)) mark_held_off(heap);
    }
}

COLD void hold_end(void) {
    /* [HO4] release: what the holder did; pairs [HO1] [HO3]; client hold_waits */
    if (atomic_exchange_explicit(&heap_holder, 0, memory_order_release) != 0) platform_futex_wake(&heap_holder);
}
