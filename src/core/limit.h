/* limit.h - what the program does when a request finds no memory: a callback, which may free some.
 *
 *   limit_callback    NULL -> function -> ...   any thread, by exchange; relaxed: the program publishes what its
 *                                               function needs
 *   heap->calls_back  true while the heap's thread is in the callback, or a request of it must not call; only that
 *                     thread has it
 *
 * The callback is called at the end of the slow path: all tiers have failed, and the thread's heap is as between two
 * calls. So it may call any function of the allocator. A request inside the callback that finds no memory fails at
 * once. A thread without a heap gets one first; a thread that has given up its heap has no callback. Progress: that of
 * the callback. */
#ifndef JW_LIMIT_H
#define JW_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mitigations.h"

typedef int limit_function(size_t size);

/* Registers the callback, NULL: none. Returns the one before. */
limit_function *limit_register(limit_function *callback);

/* Calls the callback for a request that has failed. True: it may have freed memory. */
wide_bool limit_call(size_t size);

/* The same for a request of the tiers. In the hardened build the entry points call the callback instead, when the
 * quarantine is empty. */
static inline bool limit_ask(size_t size) {
    return !QUARANTINED && limit_call(size);
}

/* With true, the calling thread's requests fail without the callback. Returns what was before. */
bool limit_hold(bool holds);

#endif
