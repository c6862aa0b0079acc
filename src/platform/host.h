/* host.h - a C library that the core is built into (docs/libc.md); JW_HOST names that library's header. Elsewhere
 * the core is in a library of its own, with thread-local variables, a key of pthreads and a constructor.
 *
 * The host has in each thread's control block one word for us, and no thread-local variable of ours exists. Its header
 * defines, as static inline functions that compile to one instruction or two:
 *
 *     void *host_word(void)              the calling thread's word
 *     void host_word_set(void *word)
 *
 * The host defines platform_thread_id, platform_on_thread_exit, platform_finish_start and platform_abort_message
 * (platform.h), and host_on_fork; core/host_calls.h says what the host calls, core/host_controls.h what it may set.
 */
#ifndef JW_HOST_H
#define JW_HOST_H

/* Whether malloc and free of the plain core can tell the host of each object (core/tracking.h). */
#ifndef JW_TRACKED
#define JW_TRACKED 0
#endif

#ifdef JW_HOST
#define JW_HOSTED 1
#include JW_HOST

/* Keeps the three handlers, which the host's fork calls. */
void host_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* CALLED_AT_START, CALLED_AT_EXIT: of functions that the host calls itself. OF_FORKING_THREAD: of variables that need
 * no copy for each thread, because the host lets one thread at a time fork. */
#define CALLED_AT_START
#define CALLED_AT_EXIT
#define OF_FORKING_THREAD static
#else
#define JW_HOSTED 0
#define CALLED_AT_START __attribute__((constructor)) static
#define CALLED_AT_EXIT __attribute__((destructor)) static
#define OF_FORKING_THREAD static __attribute__((tls_model("initial-exec"))) _Thread_local
#endif

#endif
