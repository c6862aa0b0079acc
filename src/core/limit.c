/* limit.c - the callback at a limit. */
#include "core/limit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/near.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/thread_heap.h"

static _Atomic(uintptr_t) limit_callback;

limit_function *limit_register(limit_function *callback) {
    return (limit_function *)atomic_exchange_explicit(&limit_callback, (uintptr_t)callback, memory_order_relaxed);
}

static limit_function *callback_now(void) {
    return (limit_function *)NEAR_LOAD(limit_callback);
}

/* The calling thread's heap; attaches one for a callback. NULL: no callback, or the thread gets no heap. */
static struct heap *calling_heap(void) {
    struct heap *heap = thread_heap();
    if (heap != &no_heap) return heap;
    return callback_now() && !heap_thread_has_ended() ? heap_attach() : NULL;
}

bool limit_hold(bool holds) {
    struct heap *heap = calling_heap();
    bool before = heap && heap->calls_back;
    if (heap) heap->calls_back = holds;
    return before;
}

COLD wide_bool limit_call(size_t size) {
    limit_function *callback = callback_now();
    struct heap *heap = calling_heap();
    if (!callback || !heap || heap->calls_back) return false;
    int before = errno; /* requests of the callback may fail; the one that it serves is to leave errno alone */
    heap->calls_back = true;
    bool again = callback(size) != 0;
    heap->calls_back = false;
    errno = before;
    return again;
}
