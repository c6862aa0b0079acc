/* reclaimer.h - the life of the reclamation thread, which runs Thrift's rounds: when it starts and ends.
 *
 *   reclaim_thread:auto    It starts only when the program itself has just made a thread by pthread_create: then the
 *                          sandbox allows new threads, and the process is not single-threaded. After a pause the last
 *                          resume starts it again if a thread that the program has made still lives. It sleeps while
 *                          there is nothing to do, and ends with the last such thread.
 *                 :true    It starts when enough is cached and ends when nothing is left.
 *                 :false   There is none. Freeing threads run the rounds.
 *
 * reclaimer_words.h has the words.
 */
#ifndef JW_RECLAIMER_H
#define JW_RECLAIMER_H

#include <stdbool.h>

#include "backend/reclaimer_words.h"

/* Registers `body`, which the reclamation thread runs, and `stopped`, which a thread runs after it has stopped that
 * thread. `briefly`: the program's last other thread ends, and the next one is likely to come soon. Called before the
 * first start. */
void reclaimer_register(void (*body)(void), void (*stopped)(bool briefly));

/* Whether the thread runs, or would run when there is work. */
wide_bool reclaimer_lives(void);

/* Whether the option is reclaim_thread:true. */
wide_bool reclaimer_starts_at_need(void);

/* Called when there is work and the state is NO_THREAD: starts the thread if it may start now. */
void reclaimer_start(void);

/* Called by the thread: whether it must end. */
wide_bool reclaimer_must_end(void);

/* Called by the thread when it has no work left: reclaimer_end announces its end. If the thread finds work afterwards,
 * it calls reclaimer_go_on. False: another reclamation thread has been started, and does the work. */
void reclaimer_end(void);
bool reclaimer_go_on(void);

/* Wakes pauses that wait for the thread: it has ended, or could not be started. */
void reclaimer_wake_pauses(void);

/* Called by the thread when it must end, or may not run. The next freeing thread does the rest of the work. */
void reclaimer_stop(void);

/* Called after a freeing thread's round in the thread's place. reclaim_thread:true: tries again to start the thread. */
void reclaimer_ask_again(void);

/* Called before and after the program makes a thread. `made`: the thread was made; then the reclamation thread may
 * start. */
void reclaimer_before_thread_create(void);
void reclaimer_after_thread_create(bool made);

/* Called once for each thread: when a thread that the program has made starts, else when it gets its heap. True:
 * reclaimer_thread_ends must be called at the thread's end. Threads that libc makes itself (thrd_create, SIGEV_THREAD)
 * are known only from here on. Threads that come before the program makes its first thread do not count. */
wide_bool reclaimer_thread_seen(void);

/* Called when a thread that was seen ends. If no other thread that the program has made is left, the reclamation thread
 * ends first: calls that need a single-threaded process (unshare) then work. */
void reclaimer_thread_ends(void);

/* reclaimer_pause ends the thread, reclaimer_resume starts it again. After a pause has returned, no thread of ours
 * exists until there were as many resumes as pauses. */
void reclaimer_pause(void);
void reclaimer_resume(void);

#endif
