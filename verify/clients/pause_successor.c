/* pause_successor - a thread pauses and resumes the reclamation thread while main asks the OS for the thread again.
 *
 * bound     4 threads: the reclamation thread and its successor; 1 pause, 1 resume; 1 start by main
 * property  the rounds of a thread come before those of its successor; afterwards a thread lives
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "backend/reclaimer.h"
#include "verify/clients/reclamation.h"

static _Thread_local bool pauses; /* a pause also runs a round, beside those of others */
static unsigned rounds;           /* plain: only reclamation threads look at it */

static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    if (!pauses) rounds++;
    return false;
}

static void *pausing(void *unused) {
    (void)unused;
    pauses = true;
    reclaimer_pause();
    reclaimer_resume();
    return NULL;
}

int main(void) {
    begin();
    begin_reclamation();
    model_waits_end = false;
    thrift_on_round(ROUND_SLABS, on_round);
    thrift_wake();
    pthread_t a = start(reclamation, NULL), b = start(pausing, NULL), c = start(reclamation, NULL);
    reclaimer_ask_again();
    finish(a);
    finish(b);
    finish(c);
    assert(reclaimer_lives());
    return 0;
}
