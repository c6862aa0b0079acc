/* limit.c - the callback at a limit. */
#include "core/limit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"
#include "frontend/thread_heap.h"

static _Atomic(uintptr_t) limit_callback;

limit_function *limit_register(limit_function *callback) {
    return (limit_function *)atomic_exchange_explicit(&limit_callback, (uintptr_t)callback, memory_order_relaxed);
}

bool limit_hold(bool holds) {
    struct heap *heap = thread_heap();
    bool before = heap->calls_back;
    if (heap != &no_heap) heap->calls_back = holds;
    return before;
}

COLD bool limit_call(struct heap *heap, size_t size) {
    limit_function *callback = (limit_function *)atomic_load_explicit(&limit_callback, memory_order_relaxed);
    if (!callback || heap->calls_back || heap != thread_heap()) return false;
    int before = errno; /* requests of the callback may fail; the one that it serves is to leave errno alone */
    heap->calls_back = true;
    bool again = callback(size) != 0;
    heap->calls_back = false;
    errno = before;
    return again;
}
