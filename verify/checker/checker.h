/* checker.h - what a client may ask of the checker that runs it.
 *
 * A client is plain C11 and pthreads, one run of its main() is one execution. Under our checker (JW_CHECKER defined by
 * the build) these are calls into the engine; under GenMC and natively they are no-ops, or the nearest that exists.
 */
#ifndef JW_VERIFY_CHECKER_H
#define JW_VERIFY_CHECKER_H

#include <stddef.h>
#include <stdlib.h>

#if defined JW_CHECKER

/* Executions in which the condition is false are not looked at further. */
void __VERIFIER_assume(int condition);

/* Any number below n: each is explored. */
unsigned checker_choose(unsigned n);

/* From now on the calling thread may stop for good before each of its atomic writes, locks and SC fences: each is
 * explored. To join a thread that has stopped returns at once, with PTHREAD_CANCELED. 0: it may not stop any more. Only
 * our checker stops threads. */
#if defined MODEL_AS_GENMC
#define checker_may_stop(may) ((void)(may))
#else
void checker_may_stop(int may);
#endif

/* How many steps of a thread happen before this point. Threads are numbered as they are created, main is 0. Of the
 * calling thread itself: a number of its own, at least 1. Operation A ended before B began, if B's thread knows at
 * least as many steps of A's thread as that had made at A's end. */
unsigned checker_known_steps(unsigned thread);

/* What this execution came to, for tests that compare sets of outcomes. At most 16 values; counts when it completes. */
void checker_outcome(unsigned n, const int *values);

/* [p, p + n) is unmapped: any later access is a failure. Ordered like a plain write, so that racing accesses are found
 * whichever comes first. */
void checker_forbid(const void *p, size_t n);

/* [p, p + n) is mapped afresh, by a kernel that has its own order: earlier accesses are forgotten. `zero`: it
 * reads as zero; otherwise it may not be read before it is written. */
void checker_allow(void *p, size_t n, int zero);

/* The bytes may not be read before they are written. */
void checker_uninitialised(const void *p, size_t n);

#else

#if defined GENMC
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
void __VERIFIER_assume(bool condition);

/* GenMC has no choice between values. But it explores which store a racing read reads. So a thread of its own sets
 * flags, each of which is read once: it is set then, or not. No flag says anything about another one. */
enum { CHOOSING_THREADS = 5, CHOICES_OF_THREAD = 8 };
static _Atomic(int) checker_flags[CHOOSING_THREADS][CHOICES_OF_THREAD];
static _Thread_local unsigned checker_flags_read;

/* The body of that thread, which is created before all others. */
static inline void *checker_sets_flags(void *unused) {
    for (unsigned thread = 0; thread < CHOOSING_THREADS; thread++)
        for (unsigned i = 0; i < CHOICES_OF_THREAD; i++)
            atomic_store_explicit(&checker_flags[thread][i], 1, memory_order_relaxed);
    return unused;
}

static inline unsigned checker_choose(unsigned n) {
    unsigned thread = (unsigned)(unsigned long)pthread_self(), value = 0;
    for (; value < n - 1; value++) {
        assert(thread < CHOOSING_THREADS && checker_flags_read < CHOICES_OF_THREAD);
        if (atomic_load_explicit(&checker_flags[thread][checker_flags_read++], memory_order_relaxed)) break;
    }
    return value;
}
#else
static inline void __VERIFIER_assume(int condition) {
    if (!condition) _Exit(0);
}
static inline unsigned checker_choose(unsigned n) {
    return (unsigned)rand() % n;
}
#endif

static inline void checker_may_stop(int may) {
    (void)may;
}
static inline unsigned checker_known_steps(unsigned thread) {
    (void)thread;
    return 0;
}
static inline void checker_outcome(unsigned n, const int *values) {
    (void)n, (void)values;
}
static inline void checker_forbid(const void *p, size_t n) {
    (void)p, (void)n;
}
static inline void checker_allow(void *p, size_t n, int zero) {
    (void)p, (void)n, (void)zero;
}
static inline void checker_uninitialised(const void *p, size_t n) {
    (void)p, (void)n;
}

#endif

#endif
