/* reclaimer_words.h - the reclamation thread's words, and the transitions that its rounds make of them. reclaimer.c
 * makes the transitions of the thread's life; reclaimer.h says when it starts and ends.
 *
 *   state         NO_THREAD -> RUNNING    the thread that starts it
 *                 NO_THREAD -> RUNNING    the thread itself, which has found work after it announced its end
 *                 RUNNING -> NO_THREAD    the thread itself, when nothing is left to give back (reclaim_thread:true); a
 *                                         starting thread that finds the last one not yet off its stack
 *                 RUNNING -> ROUNDS_BY_FREES     the OS refuses the thread, or to confine it; a start that sees a
 *                                                pause; the thread itself, when told to end
 *                 NO_THREAD -> ROUNDS_BY_FREES   a thread needs it, but it may not be started now
 *                 ROUNDS_BY_FREES -> RUNNING     the program makes a thread (auto); the thread that ends the last pause
 *                 ROUNDS_BY_FREES -> NO_THREAD   a freeing thread after a round in its place, to ask again (true)
 *   round_asked   0 -> 1    a thread with work that waits in no Nest, such as an abandoned heap
 *                 1 -> 0    the next round, before it looks for work
 *   quiet_rounds  0 -> n    the thread, before a wait that is doubled n times: once for each round without work;
 *                           QUIET_ROUNDS: before a wait without limit; + PATIENT * s: other threads wake this one only
 *                           if 2^s times as much waits as usual
 *                 n -> 0    the thread, after it
 *   wakeup        0 -> 1    a thread that wakes the reclamation thread; the futex of its wait
 *                 any -> 1  a pause, without a look at the word
 *                 1 -> 0    the thread, after its wait
 *   in_round      0 -> 1 -> 0    a freeing thread that runs a round; while it is 1 the others go on
 *   at_work       | 31..16 rounds and purges that are over | 15..0 those under way |; what these hold, no other finds
 *                 + 1, then + ONE_OVER - 1    each of them, at its begin and end; the wait in a round is between two
 *   pauses        | 31..20 our own | 19..0 the program's |; above 0 no thread starts, and one that runs ends
 *                 + 1, - 1    pause, resume; - 1 only if the program's part is above 0
 *                 + 1, - 1    of our own part: the end of the last thread that the program has made
 *   stopped       0 -> 1    a pause that has ended the thread
 *                 1 -> 0    the last resume, which starts the thread again
 *   made, seen, ended    counts of threads that the program has made; of those of them that have started, and that
 *                        have ended since
 *   brief_stops   + 1       the thread is stopped because the program has only one thread left, and the last such stop
 *                           that was not brief is less than an interval ago
 *                 n -> 0    such a stop that is not brief: last_stop is its time in milliseconds, 0: none; a freeing
 *                           thread's round
 *   any word -> 0 in the child of a fork, which has no reclamation thread
 */
#ifndef JW_RECLAIMER_WORDS_H
#define JW_RECLAIMER_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/near.h"

enum { NO_THREAD, RUNNING, ROUNDS_BY_FREES };
enum { PATIENT = 256 };

struct reclaimer_words {
    _Atomic(uint32_t) state;
    _Atomic(uint32_t) quiet_rounds;
    _Atomic(uint32_t) round_asked;
    _Atomic(uint32_t) wakeup;
    _Atomic(uint32_t) in_round;
    _Atomic(uint32_t) at_work;
    _Atomic(uint32_t) pauses;
    _Atomic(uint32_t) stopped;
    _Atomic(uint32_t) made, seen, ended;
    _Atomic(uint32_t) brief_stops, last_stop;
};
extern struct reclaimer_words *reclaimer; /* in memory that reads as zero in the child of any fork */
#define reclaimer NEAR_READ(reclaimer)    /* each use reads the pointer as near.h says */

/* Gets memory for the words. Called at the start, after platform_start. */
void reclaimer_words_start(void);

/* Called in the child of a fork. */
void reclaimer_forget(void);

static ALWAYS_INLINE uint32_t reclaimer_state(void) {
    return atomic_load_explicit(&reclaimer->state, memory_order_relaxed);
}

/* Whether the next round is asked for already: false after it has begun. */
static ALWAYS_INLINE bool reclaimer_is_asked(void) {
    return atomic_load_explicit(&reclaimer->round_asked, memory_order_relaxed);
}

/* Whether the thread waits longer than for one round. */
static ALWAYS_INLINE bool reclaimer_sleeps(void) {
    return atomic_load_explicit(&reclaimer->quiet_rounds, memory_order_relaxed) > 0;
}

/* The thread waits patiently: until it is woken 2^s times as much as usual may wait, where s is this; else 0. */
static ALWAYS_INLINE unsigned reclaimer_patience(void) {
    return atomic_load_explicit(&reclaimer->quiet_rounds, memory_order_relaxed) / PATIENT;
}

/* Whether the last stop was brief, and no round of a freeing thread has come since. */
static ALWAYS_INLINE bool reclaimer_stopped_briefly(void) {
    return atomic_load_explicit(&reclaimer->brief_stops, memory_order_relaxed) > 0;
}

/* Asks for a round. */
void reclaimer_ask(void);

/* Takes the request for the round that begins. Returns whether there was one; a later request is for the next round. */
wide_bool reclaimer_take_request(void);

/* Whether a round is asked for, for a thread that will not look again. */
bool reclaimer_last_look_is_asked(void);

/* Announces the next wait (quiet_rounds above); 0: after the wait. */
void reclaimer_announce_wait(unsigned quiet);

/* Waits for that time (UINT32_MAX: without limit), or until another thread wakes this one. */
void reclaimer_wait(uint32_t milliseconds);

/* Wakes the thread early. */
void reclaimer_wake(void);

/* Wakes the thread for a pause, which the woken thread then sees. If it has not seen an earlier wakeup yet, the two
 * count as one. */
void reclaimer_wake_to_end(void);

/* Ends the wait. Returns whether the thread was woken. */
wide_bool reclaimer_take_wakeup(void);

/* Called before and after a freeing thread runs a round in the thread's place. False: another thread runs one now. */
bool reclaimer_begin_turn(void);
void reclaimer_end_turn(void);

/* Called at the begin and the end of a round's work, or of a purge. */
void reclaimer_begin_work(void);
void reclaimer_end_work(void);

/* How many were over so far, modulo 2^16; and whether one is under way. */
uint32_t reclaimer_works_over(void);
bool reclaimer_is_at_work(void);

#endif
