/* thrift.h - Thrift: gives memory back to the OS by lifetime (the paper's 3.3 and 4.2.4).
 *
 * Mapped free ranges wait in two buffers. Freed and joined ranges go into the active one; once a round the buffers swap
 * roles, and what is still in the standby buffer when the round ends - neither reused nor joined for one to two rounds
 * - is given back and moves to the unmapped Nest. No timestamps, no scans.
 *
 * A round is run by the reclamation thread:  deferred work, swap, wait (500 ms, less under pressure), give back.
 * reclaimer.h says when there is one.
 *
 * Without the thread, freeing threads run the rounds themselves when the interval has passed. Above the watermark of
 * cached ranges, freeing threads give each range back at once and wake the thread early.
 */
#ifndef JW_THRIFT_H
#define JW_THRIFT_H

#include "backend/ownership.h"

/* Before the reclamation thread can be started. */
void thrift_start(void);

/* The work that users of ranges want done in each round, one user for each stage. A round does the stages in this
 * order: what the first gives back, the next finds free. */
enum round_stage { ROUND_OBJECTS, ROUND_SLABS, ROUND_RANGES, ROUND_STAGES };

/* Registers a stage's work: `round` once a round, `purge` in its place where all memory is to go now. Each returns true
 * if it leaves work for a later round. NULL: no work. */
typedef bool (*round_hook)(void);
void thrift_on_round(enum round_stage stage, round_hook round, round_hook purge);

/* Frees a held range of ours: into the mapped Nest, or straight back to the OS above the watermark. */
void thrift_free(granule_id range, uint32_t weight);

/* Gives back the whole OS pages of memory that is nobody else's. False: the OS refuses, nobody knows what they hold. */
bool thrift_discard(void *start, size_t size);

/* After ranges were placed mapped, or deferred: when enough waits, somebody must come for it. */
void thrift_notice(void);

/* Gives back every free range now. Returns the bytes given back. */
size_t thrift_purge(void);

/* The OS has refused `size` bytes. Whether they may be had when everything is given back that is not in use: where
 * that cannot be, nothing needs to be given back for it. */
bool thrift_may_help(size_t size);

/* The same; gives back what waits if it may help. */
bool thrift_make_room(size_t size);

/* There is work for a round although no range was freed (a heap was handed over, mid slabs were freed into). */
void thrift_wake(void);

/* Whether the reclamation thread runs, or would when there is work for it. */
bool thrift_has_thread(void);

/* In the child of a fork: the thread did not come along. */
void thrift_forget_thread(void);

/* So many granules without memory behind them come into use: what waits gives way where all together would be above the
 * watermark, so that there is room under a limit that nobody tells us of (a cgroup's). */
void thrift_expect(size_t granules);

/* Whether, when that last happened, all together was what was most in use of late: then caches above the backend keep
 * less. */
bool thrift_is_at_peak(void);

struct thrift_counters {
    _Atomic(size_t) rounds, sync_reclaims, given_back;
    _Atomic(size_t) outside; /* bytes in use that are in no root (huge.c): a part of what the watermark depends on */
};
extern struct thrift_counters thrift_counters;

#endif
