/* reclaimer.h - the life of the reclamation thread, which runs Thrift's rounds: when it starts and ends.
 *
 *   state     NO_THREAD -> RUNNING    the thread that starts it (see reclaim_thread below)
 *             RUNNING -> NO_THREAD    the thread itself, when nothing is left to give back (reclaim_thread:true); a
 *                                     starting thread that finds the last one not yet off its stack
 *             RUNNING -> REFUSED      the OS refuses the thread, or to confine it; the thread itself, when told to end
 *             NO_THREAD -> REFUSED    a thread needs it, but it may not be started now
 *             REFUSED -> RUNNING      the program makes a thread (auto); the thread that ends the last pause
 *             REFUSED -> NO_THREAD    a freeing thread that has run a round in its place, to ask again (true)
 *             any -> NO_THREAD        in the child of a fork
 *
 *   reclaim_thread:auto    It starts only when the program itself has just made a thread by pthread_create: then the
 *                          sandbox allows new threads, and the process is not single-threaded. It sleeps while there is
 *                          nothing to do, and ends with the last thread that the program has made.
 *                 :true    It starts when enough is cached and ends when nothing is left.
 *                 :false   There is none. Freeing threads run the rounds.
 *
 * All words are in memory that reads as zero in the child of any fork: the child has no reclamation thread.
 */
#ifndef JW_RECLAIMER_H
#define JW_RECLAIMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { NO_THREAD, RUNNING, REFUSED };

struct reclaimer {
    _Atomic(uint32_t) state;
    /* Successive rounds that had nothing to give back: the wait doubles each time. */
    _Atomic(uint32_t) quiet_rounds;
    _Atomic(uint32_t) round_asked; /* 1: a round has other work than free ranges, such as an abandoned heap */
    _Atomic(uint32_t) pressure;    /* futex: 1 wakes the sleeping thread */
    _Atomic(uint32_t) in_round;    /* 1 while a freeing thread runs a round */
    _Atomic(uint32_t) pauses;      /* while above 0 there is no thread */
    _Atomic(uint32_t) stopped;     /* 1: a pause has ended the thread; the last resume starts it again */
    /* Threads that the program has made; those of them that have got a heap, and that have ended since. */
    _Atomic(uint32_t) made, seen, ended;
};
extern struct reclaimer *reclaimer;

/* Called before anything else, and in the child of a fork. */
void reclaimer_begin(void);
void reclaimer_forget(void);

/* Registers what the thread runs, and what a thread that has stopped it runs then. Called before the first start. */
void reclaimer_runs(void (*body)(void), void (*stopped)(void));

/* Whether the thread runs, or would run when there is work. */
bool reclaimer_lives(void);

/* Whether the option is reclaim_thread:true. */
bool reclaimer_starts_at_need(void);

/* Called when there is work and the state is NO_THREAD: starts the thread if it may start now. */
void reclaimer_start(void);

/* Called by the thread: whether it must end. */
bool reclaimer_must_end(void);

/* Wakes the thread early. */
void reclaimer_wake(void);

/* Called before and after the program makes a thread. `made`: it could; then ours may start. */
void reclaimer_thread_comes(void);
void reclaimer_thread_came(bool made);

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
