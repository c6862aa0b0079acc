/* thread_end_twice - the reclamation thread ends while another thread asks for a round twice. So a second one may come
 * and go before the first one looks back.
 *
 * bound     2 threads: the reclamation thread; 2 asks; after the first the asking thread runs the thread it started
 * property  each ask is followed by a round, or a thread that will run it; rounds of different threads are in order
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/reclamation.h"

static _Atomic(unsigned) work;
static unsigned rounds; /* plain: one round after the other */
static unsigned done;

static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    rounds++;
    unsigned seen = atomic_load_explicit(&work, memory_order_relaxed);
    if (seen > done) done = seen;
    return false;
}

static void *asking(void *unused) {
    (void)unused;
    atomic_store_explicit(&work, 1, memory_order_relaxed);
    thrift_wake();
    run_started();
    atomic_store_explicit(&work, 2, memory_order_relaxed);
    thrift_wake();
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
    assert(done == 2 || atomic_load_explicit(&model_thread_body, memory_order_relaxed));
    return 0;
}
