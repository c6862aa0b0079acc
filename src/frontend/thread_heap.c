/* thread_heap.c - the calling thread's heap, and the heap of threads that have none. */
#include "frontend/thread_heap.h"

#include "platform/platform.h"

#define NO_KEY 1u /* no slab has this key */

struct heap no_heap = {.local = {[0 ... DISABLED] = {.first = LINK_END}}, .size_map = {NO_LIST}, .key = NO_KEY};
#if !JW_HOSTED
_Thread_local struct thread thread __attribute__((tls_model("initial-exec"))) = {.heap = &no_heap, .key = NO_KEY};
#endif

static void thread_set_heap(struct heap *heap) {
#if JW_HOSTED
    host_word_set(heap);
#else
    thread.heap = heap;
    thread.key = heap->key;
#endif
}

void heap_enter(struct heap *heap) {
    thread_set_heap(heap);
    range_cache_enter(heap == &no_heap ? NULL : &heap->range_cache);
}

void heap_note_thread(void) {
    if (thread_heap() != &no_heap)
        atomic_store_explicit(&thread_heap()->thread, platform_thread_id(), memory_order_relaxed);
}
