/* reserve.h - memory with pages that is set aside for threads that are marked as real-time (jw_realtime_reserve).
 *
 * The reserve is roots of a use of its own, FOR_RESERVE, whose pages, records and words were all written before. A
 * marked thread fetches its ranges there first. So a call that finds one makes no page fault and no system call. Any
 * thread may place a range of the reserve: it goes to the Nests of this use, with its pages. Rounds, headroom and
 * purges do not look into these Nests as long as a thread is marked. Knit and Nest work as for the other uses.
 *
 *   reserve_mine      thread-local: the thread is marked. The reclamation thread has no such variable of its own, and
 *                     must not read it
 *   reserve_users     marked threads. At 0 the reserve's free ranges go back as all others do, by the thread whose mark
 *                     was the last one and by rounds; those in use by the threads that place them
 *   reserve_is_there  a root was made for the reserve, ever. Until then no page of its Nests is touched
 *
 * All three are accessed relaxed: the ranges pass from thread to thread by Nest and Knit. */
#ifndef JW_RESERVE_H
#define JW_RESERVE_H

#include "backend/ownership.h"
#include "base/mitigations.h"
#include "platform/host.h"

extern _Atomic(uint32_t) reserve_users HIDDEN, reserve_is_there HIDDEN;

/* Whether a thread is marked. */
static inline bool reserve_is_used(void) {
    return NEAR_LOAD(reserve_users) > 0;
}

/* In how many Nests there may be ranges. */
static inline unsigned nests_in_use(void) {
    return NEAR_LOAD(reserve_is_there) ? NESTS : ORDINARY_NESTS;
}

/* The hardened build has none: there, freed objects wait. */
#define HAS_RESERVE (!JW_HOSTED && !TRAILERS)
#if HAS_RESERVE
extern _Thread_local uint32_t reserve_mine HIDDEN __attribute__((tls_model("initial-exec")));
#else
#define reserve_mine 0u
#endif

/* Whether the calling thread is marked. Not for the reclamation thread. */
static inline bool reserve_is_mine(void) {
    return reserve_mine;
}

/* Writes to each page, but changes nothing: other threads may use the memory. */
void reserve_write(void *start, size_t size);

#if HAS_RESERVE
/* Makes roots for so many bytes, and writes to all their pages. The caller is marked: else rounds would take what is
 * made. False: there is no memory; what was made stays in the reserve. */
bool reserve_add(size_t size);

/* Marks the calling thread, or ends its mark. If none is marked then, free memory goes back, also the reserve's. */
void reserve_mark(bool marked);
#else
static inline void reserve_mark(bool marked) {
    (void)marked;
}
#endif

/* In the child of a fork: no thread is marked. */
static inline void reserve_forget(void) {
    atomic_store_explicit(&reserve_users, 0, memory_order_relaxed);
#if HAS_RESERVE
    reserve_mine = false;
#endif
}

#endif
