/* pause_start - a thread starts the reclamation thread while another one pauses it.
 *
 * bound     2 threads: 1 start, after which that thread runs what it started; 1 pause
 * property  after the pause nothing of a round is to be seen: either the start was refused, or the thread has ended
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "backend/reclaimer.h"
#include "verify/clients/reclamation.h"

static unsigned rounds; /* plain: the pausing thread looks at it when no round may run */

static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    rounds++;
    return false;
}

static void *starting(void *unused) {
    (void)unused;
    thrift_wake();
    run_started();
    return NULL;
}

static void *pausing(void *unused) {
    (void)unused;
    reclaimer_pause();
    rounds = 0;
    return NULL;
}

int main(void) {
    begin();
    begin_reclamation();
    model_waits_end = false;
    thrift_on_round(ROUND_SLABS, on_round);
    pthread_t a = start(starting, NULL), b = start(pausing, NULL);
    finish(a);
    finish(b);
    assert(rounds == 0 && atomic_load_explicit(&reclaimer->state, memory_order_relaxed) != RUNNING);
    return 0;
}
