/* thrift_counters.h - what Thrift counts: for the statistics, and bytes in use outside all roots for the watermark and
 * the limits. */
#ifndef JW_THRIFT_COUNTERS_H
#define JW_THRIFT_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mitigations.h"
#include "base/near.h"

struct thrift_counters {
    _Atomic(size_t) rounds, sync_reclaims, given_back;
    _Atomic(size_t) asks;         /* for a round, because of work that waits in no Nest (thrift_wake) */
    _Atomic(size_t) wakeups;      /* of the reclamation thread: waits that have ended, also by the clock */
    _Atomic(size_t) huge_bytes;   /* in use outside all roots (huge.c); the watermark depends on them, too */
    _Atomic(size_t) vast_bytes;   /* of these, of objects of VAST_FROM bytes and more */
    _Atomic(size_t) others;       /* in use by tables and heaps, less the pages of slabs that rounds have given back */
    _Atomic(size_t) huge_waiting; /* of these, in the hardened build: freed, but in quarantine */
};
extern struct thrift_counters thrift_counters;

static inline void thrift_count_round(void) {
    atomic_fetch_add_explicit(&thrift_counters.rounds, 1, memory_order_relaxed);
}

static inline void thrift_count_ask(void) {
    atomic_fetch_add_explicit(&thrift_counters.asks, 1, memory_order_relaxed);
}

/* The reclamation thread goes on after a wait. */
static inline void thrift_count_wakeup(void) {
    atomic_fetch_add_explicit(&thrift_counters.wakeups, 1, memory_order_relaxed);
}

/* A free above the watermark has given its range's pages back itself. */
static inline void thrift_count_sync_reclaim(void) {
    atomic_fetch_add_explicit(&thrift_counters.sync_reclaims, 1, memory_order_relaxed);
}

static inline size_t thrift_given_back(void) {
    return NEAR_LOAD(thrift_counters.given_back);
}

static inline void thrift_count_given_back(size_t bytes) {
    atomic_fetch_add_explicit(&thrift_counters.given_back, bytes, memory_order_relaxed);
}

/* Bytes outside all roots come into use, or (below zero) are in use no longer. */
static inline void huge_bytes_add(intptr_t bytes) {
    atomic_fetch_add_explicit(&thrift_counters.huge_bytes, (size_t)bytes, memory_order_relaxed);
}

/* The same of vast objects (VAST_FROM), which count as huge bytes, too. */
static inline void vast_bytes_add(intptr_t bytes) {
    atomic_fetch_add_explicit(&thrift_counters.vast_bytes, (size_t)bytes, memory_order_relaxed);
}

static inline size_t vast_bytes_in_use(void) {
    return NEAR_LOAD(thrift_counters.vast_bytes);
}

/* Bytes of tables, heaps or slabs get pages, or (below zero) have none any more. Only the limits count them. */
void other_bytes_add(intptr_t bytes);

static inline size_t other_bytes_in_use(void) {
    return NEAR_LOAD(thrift_counters.others);
}

/* Hardened build: bytes of a freed huge object begin to wait in quarantine, or (below zero) wait no longer. */
static inline void huge_bytes_wait(intptr_t bytes) {
    atomic_fetch_add_explicit(&thrift_counters.huge_waiting, (size_t)bytes, memory_order_relaxed);
}

static inline size_t huge_bytes_waiting(void) {
    return NEAR_LOAD(thrift_counters.huge_waiting);
}

/* Without what waits, which has no memory. */
static inline size_t huge_bytes_in_use(void) {
    size_t all = NEAR_LOAD(thrift_counters.huge_bytes), waiting = QUARANTINED ? huge_bytes_waiting() : 0;
    return all > waiting ? all - waiting : 0; /* values of different moments may contradict each other */
}

#endif
