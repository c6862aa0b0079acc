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

/* What the tiers above want done once a round. True: there is more to do later, so the thread stays. The PURGE_HOOKs
 * take the places of the others where all is to go now. */
typedef bool (*round_hook)(void);
void thrift_on_round(unsigned which, round_hook hook);
enum { MIDEND_HOOK, PURGE_HOOK, FRONTEND_HOOK, FRONTEND_PURGE_HOOK, GUARD_HOOK, ROUND_HOOKS };

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

struct thrift_counters {
    _Atomic(size_t) rounds, sync_reclaims, given_back;
};
extern struct thrift_counters thrift_counters;

#endif
