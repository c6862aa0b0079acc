/* host_calls.h - what a C library calls that the core is built into (platform/host.h).
 *
 *   when                                       call
 *   a thread starts, before its first malloc   host_thread_starts(), also in the process's first thread
 *   then, in the first thread, before main     start_with_the_program()
 *   a thread has made its last call here       the function of platform_on_thread_exit, with the thread's word, if it
 *                                              was registered; again if the thread has called malloc since
 *   the program makes a thread                 reclaimer_before_thread_create(), then
 *                                              reclaimer_after_thread_create(made)
 *   the process exits                          settle_at_exit() (frontend/heap_rounds.h), then print_at_exit()
 *                                              (statistics/statistics.h)
 *   fork                                       the handlers of host_on_fork; only one thread at a time is between them
 */
#ifndef JW_HOST_CALLS_H
#define JW_HOST_CALLS_H

#include "backend/reclaimer.h"
#include "frontend/thread_heap.h"

static inline void host_thread_starts(void) {
    heap_enter(&no_heap);
}

#if JW_HOSTED
void start_with_the_program(void);
#endif

#endif
