/* thread_heap.h - the calling thread's heap: one load on the hit paths.
 *
 *   thread that has               thread_heap()
 *   allocated, and has not ended  its heap
 *   else                          &no_heap, which has no objects and whose key matches no slab. So the hit paths need
 *                                 no test for it
 *
 * A library keeps the heap and its key in one thread-local variable, in one line of the cache. A C library that the
 * core is built into has one word in the thread's control block for the heap (platform/host.h).
 */
#ifndef JW_THREAD_HEAP_H
#define JW_THREAD_HEAP_H

#include "frontend/heap.h"
#include "platform/host.h"

extern struct heap no_heap HIDDEN;

#if JW_HOSTED

static ALWAYS_INLINE struct heap *thread_heap(void) {
    return (struct heap *)host_word();
}

/* The key of that heap. */
static ALWAYS_INLINE uint64_t thread_key(void) {
    return thread_heap()->key;
}

#else

struct thread {
    struct heap *heap;
    uint64_t key; /* the heap's */
};

extern _Thread_local struct thread thread HIDDEN __attribute__((tls_model("initial-exec")));

static ALWAYS_INLINE struct heap *thread_heap(void) {
    return thread.heap;
}

/* The key of that heap. */
static ALWAYS_INLINE uint64_t thread_key(void) {
    return thread.key;
}

#endif

/* Makes the heap the calling thread's, with its range cache. &no_heap: the thread has no heap from then on. */
void heap_enter(struct heap *heap);

/* Writes the calling thread's number into its heap; after a fork it has a new one. */
void heap_note_thread(void);

#endif
