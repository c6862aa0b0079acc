/* disable.c - disables, waits, enables (disable.h). */
#include "frontend/disable.h"

#include "config/options.h"
#include "config/policy.h"
#include "frontend/heap_table.h"
#include "frontend/thread_heap.h"
#include "platform/platform.h"

static _Atomic(uint32_t) disabler;

COLD void disable_wait(void) {
    uint32_t now;
    /* [DI3] acquire: what the disabler did; pairs [DI4]; client disable_waits */
    while ((now = atomic_load_explicit(&disabler, memory_order_acquire)) != 0 && now != thread_heap()->number)
        platform_futex_wait(&disabler, now, DISABLED_WAIT);
}

static void mark_disabled(struct heap *heap) {
    for (unsigned size = 0; size <= FRONTEND_MAX; size++)
        relaxed_store(&heap->size_map[size], (uint8_t)list_of_class(DISABLED));
}

COLD void disable_look(struct heap *heap) {
    /* [DI2] fence: the entries, before the look at the disabler; pairs [DI1]; client disable_write */
    atomic_thread_fence(memory_order_seq_cst);
    disable_wait();
    if (option_init() != INIT_NONE) mark_disabled(heap);
}

/* False: there is another disabler. */
static bool become_disabler(uint32_t own) {
    uint32_t before = 0;
    return atomic_compare_exchange_strong_explicit(&disabler, &before, own, memory_order_relaxed,
                                                   memory_order_relaxed) ||
           before == own;
}

COLD void disable_others(void) {
    uint32_t own = thread_heap()->number;
    do disable_wait();
    while (!become_disabler(own));
    /* [DI1] fence: the disabler, before DISABLED; what the last one did; pairs [DI2] [DI4]; client disable_write */
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t number = heap_count(); number > 0; number--) {
        struct heap *heap = heap_by_number(number);
        /* [DI6] acquire: the map's first entries; pairs [DI5]; client disable_new */
        if (heap && number != own && atomic_load_explicit(&heap->has_map, memory_order_acquire)) mark_disabled(heap);
    }
}

COLD void disable_end(void) {
    /* [DI4] release: what the disabler did; pairs [DI1] [DI3]; client disable_waits */
    if (atomic_exchange_explicit(&disabler, 0, memory_order_release) != 0) platform_futex_wake(&disabler);
}
