/* thrift.h - Thrift: gives memory back to the OS by lifetime (the paper's 3.3 and 4.2.4).
 *
 * Mapped free ranges wait in two buffers. Freed and joined ranges go into the active one. Once a round the buffers swap
 * roles. The ranges that are still in the standby buffer when the round ends were neither reused nor joined for one to
 * two rounds: they are given back and move to the unmapped Nest. No range has a timestamp.
 *
 * The reclamation thread runs a round:  deferred work, swap, wait (500 ms, less under pressure), give back.
 * reclaimer.h says when this thread exists.
 *
 * Without it, threads that free or allocate run the rounds when the interval has passed. Above the watermark of cached
 * ranges, freeing threads give each range back at once and wake the reclamation thread early.
 *
 * thrift.c has the buffers and the watermark, thrift_rounds.c the rounds and the threads that run them.
 */
#ifndef JW_THRIFT_H
#define JW_THRIFT_H

#include "backend/ownership.h"
#include "backend/reclaimer.h"

/* Called before the reclamation thread can be started. */
void thrift_start(void);

/* The work that the users of ranges register for each round, one user for each stage. A round does the stages in this
 * order: a stage finds free what the stage before gave back. */
enum round_stage { ROUND_OBJECTS, ROUND_SLABS, ROUND_RANGES, ROUND_STAGES };

/* Registers a stage's work: `round` once a round; `purge` instead of it when all memory must go now. Each returns true
 * if it leaves work for a later round. NULL: no work. */
typedef bool (*round_hook)(void);
void thrift_on_round(enum round_stage stage, round_hook round, round_hook purge);

/* Frees a held range: into the mapped Nest or, above the watermark, back to the OS. */
void thrift_free(granule_id range, uint32_t weight);

/* Gives a held mapped range back to the OS. Returns its granules that stay mapped. */
size_t thrift_give_back(granule_id range, uint32_t weight);

/* Gives back the whole OS pages of memory that only the caller uses. False: the OS refuses; the pages' contents are
 * undefined. */
bool thrift_discard(void *start, size_t size);

/* Notes in the peak what is in use now, and returns the watermark after that: granules that may wait mapped. */
size_t watermark_renew(void);

/* Bytes that may wait mapped besides those that wait already. */
size_t watermark_room(size_t watermark);

/* Called after ranges were placed mapped, or deferred: when enough is cached, starts or wakes the thread, or runs a
 * round. */
void thrift_notice(void);

/* Gives back every free range now. Returns the bytes given back. */
size_t thrift_purge(void);

/* The OS has refused `size` bytes. Whether giving back all unused memory may help. */
bool thrift_may_help(size_t size);

/* The same; if it may help, gives back all unused memory. */
bool thrift_make_room(size_t size);

/* Another number, most likely, if ranges, roots or mappings have come or gone since the last call. */
uint64_t thrift_signs(void);

/* There is work for a round although no range was freed (a thread has ended, mid slabs have freed objects). */
void thrift_wake(void);

/* Runs the round that was asked for, if it is due and no thread would come for it. Called now and then by threads that
 * free or allocate, as not each of them calls thrift_notice. */
void thrift_take_turn(void);

/* Announces that `granules` unmapped granules will be used. Gives back cached memory above the watermark: a limit that
 * we do not know of (a cgroup's) may have no room for both. */
void thrift_make_headroom(size_t granules);

/* Whether the last thrift_make_headroom was above the watermark: then heap pools keep a part of their share
 * (POOL_PART_AT_PEAK). */
bool thrift_is_at_peak(void);

struct thrift_counters {
    _Atomic(size_t) rounds, sync_reclaims, given_back;
    _Atomic(size_t) outside; /* bytes in use outside all roots (huge.c); the watermark depends on them, too */
};
extern struct thrift_counters thrift_counters;

/* Bytes outside all roots come into use, or (below zero) are in use no longer. */
void thrift_count_outside(intptr_t bytes);

#endif
