/* thread_end_asked - the reclamation thread ends while another thread asks for a round.
 *
 * bound     2 threads: the reclamation thread; 1 ask, after which the asking thread runs the thread it started
 * property  the ask is followed by a round that sees what it was for; rounds of one thread and the next are in order
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/reclamation.h"

static _Atomic(int) work;
static unsigned rounds; /* plain: one round after the other */
static bool done;

static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    rounds++;
    if (atomic_load_explicit(&work, memory_order_relaxed)) done = true;
    return false;
}

static void *asking(void *unused) {
    (void)unused;
    atomic_store_explicit(&work, 1, memory_order_relaxed);
    thrift_wake();
    run_started();
    return NULL;
}

int main(void) {
    begin();
    begin_reclamation();
    thrift_on_round(ROUND_SLABS, on_round);
    thrift_wake();
    pthread_t a = start(reclamation, NULL), b = start(asking, NULL);
    finish(a);
    finish(b);
    assert(done);
    return 0;
}
