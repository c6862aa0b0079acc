/* reclamation.h - the reclamation thread for clients: a thread of theirs runs what the allocator started. */
#ifndef JW_RECLAMATION_H
#define JW_RECLAMATION_H

#include "verify/clients/ranges.h"

static inline void begin_reclamation(void) {
    model_starts_threads = true;
    model_waits_end = true;
    options.reclaim_start = 0;
    options.reclaim_thread = THREAD_TRUE;
}

/* Runs the thread that has been started, if no thread runs it yet. */
static inline void run_started(void) {
    void (*body)(void) = atomic_exchange_explicit(&model_thread_body, NULL, memory_order_acquire);
    if (body) body();
}

static inline void *reclamation(void *unused) {
    (void)unused;
    run_started();
    return NULL;
}

#endif
