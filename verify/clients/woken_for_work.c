/* woken_for_work - the reclamation thread of a program of several threads goes to sleep without limit. Meanwhile a
 * thread asks for a round and then waits for its work to be done.
 *
 * bound     2 threads: the reclamation thread, after its quiet rounds; 1 ask by main
 * property  the reclamation thread looks again or is woken, and the work is done. A lost wake-up is a livelock. After a
 *           few rounds without work the thread sleeps
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include <sched.h>

#include "backend/reclaimer.h"
#include "config/policy.h"
#include "verify/clients/reclamation.h"

enum { MOST_ROUNDS = 8 }; /* the quiet ones, those for the ask, and the quiet ones after it */

static _Atomic(bool) work, done;

/* The reclamation thread alone calls this. */
static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    static unsigned rounds;
    assert(++rounds <= MOST_ROUNDS && "the thread sleeps when there is nothing to do");
    if (atomic_load_explicit(&work, memory_order_relaxed)) atomic_store_explicit(&done, true, memory_order_relaxed);
    return false;
}

/* Waits until that becomes true: the checker reports it if nothing will make it so. */
static void await(_Atomic(bool) *condition) {
#ifdef GENMC
    __VERIFIER_assume(atomic_load_explicit(condition, memory_order_relaxed));
#else
    while (!atomic_load_explicit(condition, memory_order_relaxed)) sched_yield();
#endif
}

int main(void) {
    begin();
    begin_reclamation();
    options.reclaim_thread = THREAD_AUTO;
    thrift_on_round(ROUND_SLABS, on_round);
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    pthread_t a = start(reclamation, NULL);
    atomic_store_explicit(&work, true, memory_order_relaxed);
    thrift_wake();
    await(&done);
    model_ends();
    finish(a);
    return 0;
}
