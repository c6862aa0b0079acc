/* pause_round - the reclamation thread runs rounds while another thread pauses and resumes it.
 *
 * bound     2 threads: the reclamation thread; 1 pause, 1 resume
 * property  between the two nothing of a round is to be seen, and then there is a thread again
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

static void *pausing(void *unused) {
    (void)unused;
    reclaimer_pause();
    rounds = 0;
    reclaimer_resume();
    return NULL;
}

int main(void) {
    begin();
    begin_reclamation();
    model_waits_end = false;
    thrift_on_round(ROUND_SLABS, on_round);
    thrift_wake();
    pthread_t a = start(reclamation, NULL), b = start(pausing, NULL);
    finish(a);
    finish(b);
    assert(rounds == 0 && reclaimer_lives());
    return 0;
}
