/* reclaimer.h - the life of the reclamation thread, which runs Thrift's rounds: when it starts and ends.
 *
 *   reclaim_thread:auto    It starts only when the program itself has just made a thread by pthread_create: then the
 *                          sandbox allows new threads, and the process is not single-threaded. It sleeps while there is
 *                          nothing to do, and ends with the last thread that the program has made.
 *                 :true    It starts when enough is cached and ends when nothing is left.
 *                 :false   There is none. Freeing threads run the rounds.
 *
 * reclaimer_words.h has the words.
 */
#ifndef JW_RECLAIMER_H
#define JW_RECLAIMER_H

#include <stdbool.h>

#include "backend/reclaimer_words.h"

/* Registers what the thread runs, and what a thread that has stopped it runs then. Called before the first start. */
void reclaimer_register(void (*body)(void), void (*stopped)(void));

/* Whether the thread runs, or would run when there is work. */
bool reclaimer_lives(void);

/* Whether the option is reclaim_thread:true. */
bool reclaimer_starts_at_need(void);

/* Called when there is work and the state is NO_THREAD: starts the thread if it may start now. */
void reclaimer_start(void);

/* Called by the thread: whether it must end. */
bool reclaimer_must_end(void);

/* Called by the thread, which has no work left: it announces its end. If it finds work afterwards, it goes on.
 * False: another thread has been started, and does the work. */
void reclaimer_end(void);
bool reclaimer_go_on(void);

/* The thread has ended, or could not be started: a pause may wait for that. */
void reclaimer_wake_pauses(void);

/* Called by the thread when it must end, or may not run. The next freeing thread does the rest of the work. */
void reclaimer_stop(void);

/* A freeing thread has run a round because the OS refused the thread: asks again. */
void reclaimer_ask_again(void);

/* Called before and after the program makes a thread. `made`: it could; then ours may start. */
void reclaimer_before_thread_create(void);
void reclaimer_after_thread_create(bool made);

/* Called when a thread gets its heap. Returns whether its end is to be told. Threads that libc makes itself
 * (thrd_create, SIGEV_THREAD) are known only from here on. Those that came before the first one that the program made
 * do not count. */
bool reclaimer_thread_seen(void);

/* Called when a thread that was seen ends. If it is the last one that the program has made, ours ends first, so that
 * calls that need a single-threaded process work (unshare). */
void reclaimer_thread_ends(void);

/* Ends the thread, and starts it again. After a pause has returned, no thread of ours exists until there were as many
 * resumes as pauses. */
void reclaimer_pause(void);
void reclaimer_resume(void);

#endif
