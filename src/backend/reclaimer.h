/* reclaimer.h - the life of the reclamation thread, which runs Thrift's rounds: when there is one.
 *
 *   state     NO_THREAD -> RUNNING    who starts it (see reclaim_thread below)
 *             RUNNING -> NO_THREAD    the thread itself, when nothing is left to give back (reclaim_thread:true); a
 *                                     starting thread that finds the last one not yet off its stack
 *             RUNNING -> REFUSED      the OS refuses the thread, or to confine it; the thread itself, when told to end
 *             NO_THREAD -> REFUSED    it is needed, and may not be started now
 *             REFUSED -> RUNNING      the program makes a thread (auto); who ends the last pause
 *             REFUSED -> NO_THREAD    a freeing thread that has run a round in its place, to ask again (true)
 *             any -> NO_THREAD        in the child of a fork
 *
 *   reclaim_thread:auto    The thread starts when the program itself has just made one, by pthread_create, and at no
 *                          other time: then the sandbox lets threads be made, and the process is not single-threaded.
 *                          It sleeps while there is nothing to do, and ends with the last thread of the program.
 *                 :true    It starts when enough is cached and ends when nothing is left.
 *                 :false   There is none. Freeing threads run the rounds.
 *
 * All words are in memory that reads as zero in the child of any fork: it believes in no thread that it does not have.
 */
#ifndef JW_RECLAIMER_H
#define JW_RECLAIMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { NO_THREAD, RUNNING, REFUSED };

struct reclaimer {
    _Atomic(uint32_t) state;
    /* Rounds in a row without anything to give back, only heaps to look after: the wait doubles each time. */
    _Atomic(uint32_t) quiet_rounds;
    _Atomic(uint32_t) round_asked; /* 1: there is work for a round that is no free range (a heap handed over) */
    _Atomic(uint32_t) pressure;    /* futex: 1 asks the sleeping thread to go on */
    _Atomic(uint32_t) in_round;    /* 1 while a thread without the reclamation thread runs a round */
    _Atomic(uint32_t) pauses;      /* while above 0 there is no thread */
    _Atomic(uint32_t) stopped;     /* 1: a pause has ended the thread; the last resume starts it again */
    _Atomic(uint32_t) made, ended; /* threads that the program has made; those with a heap that have ended */
};
extern struct reclaimer *reclaimer;

/* Before anything else, and in the child of a fork. */
void reclaimer_begin(void);
void reclaimer_forget(void);

/* Registers what the thread runs, and what a thread that has stopped it does then. Before the first start. */
void reclaimer_runs(void (*body)(void), void (*stopped)(void));

/* Whether the thread runs, or would when there is work for it. */
bool reclaimer_lives(void);

/* reclaim_thread:true. */
bool reclaimer_starts_at_need(void);

/* There is work and the state is NO_THREAD: starts the thread where that may be done now. */
void reclaimer_start(void);

/* By the thread: it has been told to end. */
bool reclaimer_must_end(void);

/* Wakes the thread before its time. */
void reclaimer_wake(void);

/* The program is about to make a thread, has made it (then ours may start), or could not. */
void reclaimer_thread_comes(void);
void reclaimer_thread_came(bool made);

/* A thread with a heap ends. Where it was the last that the program has made, ours ends first: what needs a process
 * with one thread, as unshare does, works then. */
void reclaimer_thread_ends(void);

/* After a pause returns no thread of ours exists, until as many resumes as pauses have come. */
void reclaimer_pause(void);
void reclaimer_resume(void);

#endif
