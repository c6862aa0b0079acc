/* thrift.h - Thrift: gives memory back to the OS by lifetime (the paper's 3.3 and 4.2.4).
 *
 * Mapped free ranges wait in two buffers. Freed and joined ranges go into the active one. Once a round the buffers swap
 * roles. The ranges that are still in the standby buffer when the round ends were neither reused nor joined for one to
 * two rounds: they are given back and move to the unmapped Nest. No range has a timestamp.
 *
 * The reclamation thread runs a round:  deferred work, swap, wait (500 ms, less if it is woken), give back.
 * reclaimer.h says when this thread exists.
 *
 * Without it, threads that free or allocate run the rounds when the interval has passed. Above the watermark of cached
 * ranges, freeing threads give each range back at once and wake the reclamation thread early.
 *
 * This header is Thrift for the other files. Its parts:
 *
 *   thrift_rounds.c    the rounds, and the threads that run them
 *   thrift_buffers.h   the two buffers
 *   watermark.h        how much may wait
 *   give_back.h        how pages go back
 *   headroom.h         what goes back before new memory is used
 *   limits.h           the limits that the program sets
 *   shortage.h         whether giving back helps when the OS refuses memory
 *
 * `thrift_` begins the names that other tiers use, in each of these files; they also use give_back_pages and
 * watermark_minimum. All else is for the backend's files.
 */
#ifndef JW_THRIFT_H
#define JW_THRIFT_H

#include "backend/give_back.h"
#include "backend/headroom.h"
#include "backend/limits.h"
#include "backend/ownership.h"
#include "backend/reclaimer.h"
#include "backend/shortage.h"
#include "backend/thrift_counters.h"
#include "backend/watermark.h"

/* Called before the reclamation thread can be started. */
void thrift_start(void);

/* The work that the users of ranges register for each round, one user for each stage. A round does the stages in this
 * order: a stage finds free what the stage before gave back. */
enum round_stage { ROUND_OBJECTS, ROUND_SLABS, ROUND_RANGES, ROUND_STAGES };

/* Registers a stage's work, once a round. `now`: in a purge, all memory must go now. Returns true if it leaves work for
 * a later round. NULL: no work. */
typedef wide_bool (*round_hook)(wide_bool now);
void thrift_on_round(enum round_stage stage, round_hook hook);

/* What the frontend does before a range for objects above 2 KB is fetched, or a mapping is made: it places what other
 * threads have freed of the calling thread's, about `granules` granules. NULL until the start. */
typedef void (*fetch_hook)(uint32_t granules);
extern _Atomic(fetch_hook) thrift_on_fetch HIDDEN;

/* Calls it. */
void thrift_before_fetch(size_t granules);

/* Tells of granules that wait outside all Nests for the next round. Returns whether these, with all others that were
 * told of since the last round, are so little that a patient wait may go on. */
wide_bool thrift_may_hold(size_t granules);

/* Rounds in a row of the reclamation thread that have left something for the next one: the program uses the same memory
 * again and again. Below 0: as many rounds are not counted. */
extern _Atomic(int32_t) thrift_rounds_again HIDDEN;

static ALWAYS_INLINE void thrift_set_rounds_again(int32_t count) {
    atomic_store_explicit(&thrift_rounds_again, count, memory_order_relaxed);
}

/* Announces that `granules` granules without pages will be used, as thrift_make_headroom. Above the soft limit, also
 * asks for a round. False: the hard limit does not allow these granules. */
wide_bool thrift_admit(size_t granules);

/* Places a held range that a free has left: into the mapped Nest or, above the watermark, back to the OS. Where our
 * thread does not run, other ranges above the watermark then go back, too. Then calls thrift_notice. */
void thrift_place_freed(granule_id range, uint32_t weight);

/* Called after ranges were placed mapped, or deferred: when enough is cached, starts or wakes the thread, or runs a
 * round. */
void thrift_notice(void);

/* Where most memory is free and has no pages: opens the parts that roots have closed. Rounds may not: their thread maps
 * nothing. */
void thrift_complete_roots(void);

/* Gives back every free range now. Returns the bytes given back. */
size_t thrift_purge(void);

/* As thrift_purge, for malloc_trim: a purge does not find what another thread's round or purge holds just then. So the
 * call waits for such a thread, 1 s at most, and purges again. */
size_t thrift_trim(void);

/* A step of a purge (core/purge.h): deferred ranges, spare roots, and what the users of ranges keep for themselves. */
void thrift_purge_shared(void);

/* The OS has refused `size` bytes of addresses: gives back all unused memory, unless that cannot help
 * (thrift_may_help). Returns whether a new try may succeed. */
wide_bool thrift_make_room(size_t size);

/* Asks for a round, and wakes a sleeping reclamation thread. Called for work that waits in no Nest: a thread
 * has ended, mid slabs have freed objects, a thread caches ranges. */
void thrift_wake(void);

/* The same for work on so many granules: while they are little, a patient wait goes on, and the round after it finds
 * that it was asked for. */
void thrift_wake_for(size_t granules);

/* Runs the round that was asked for, if it is due and no thread would come for it. Called now and then by threads that
 * free or allocate, as not each of them calls thrift_notice. */
void thrift_take_turn(void);

#endif
