/* disable_write - a thread disables another one that writes its heap's map at that moment.
 *
 * bound     2 threads: 1 disables; 1 entry of a map is written
 * property  the writer either finds its entry DISABLED, or goes on before that or after its end; none of the
 *           disabler's own entries is DISABLED
 */
#include "verify/clients/disable_client.h"

static bool is_held(const struct heap *heap, size_t size) {
    return __atomic_load_n(&heap->size_map[size], __ATOMIC_RELAXED) == DISABLED * FREE_TARGET_WORDS;
}

static void *writing(void *unused) {
    (void)unused;
    heap_enter(its);
    __atomic_store_n(&its->size_map[SIZE], size_class_of(SIZE) * FREE_TARGET_WORDS,
                     __ATOMIC_RELAXED); /* as size_map.c */
    disable_look(its);
    if (atomic_load_explicit(&held, memory_order_acquire)) assert(is_held(its, SIZE));
    return NULL;
}

int main(void) {
    uint64_t *own = make_its();
    pthread_t writer = start(writing, NULL);
    disable_others();
    assert(!is_held(thread.heap, 0) && !is_held(thread.heap, SIZE));
    atomic_store_explicit(&held, true, memory_order_release);
    atomic_store_explicit(&held, false, memory_order_relaxed);
    disable_end();
    finish(writer);
    heap_abandon(its);
    give(own, SIZE, 1);
    expect_nothing_left();
    return 0;
}
