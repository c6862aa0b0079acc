/* pause_unpaired - the last thread that the program has made ends, while another one calls resume without a pause.
 *
 * bound     3 threads: the reclamation thread; 1 end of a thread by main; 1 resume
 * property  the ending thread's own pause holds until no reclamation thread lives. A pause that a resume ends is a
 *           livelock
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "backend/reclaimer.h"
#include "verify/clients/reclamation.h"

static void *resuming(void *unused) {
    (void)unused;
    reclaimer_resume();
    return NULL;
}

int main(void) {
    begin();
    begin_reclamation();
    options.reclaim_thread = THREAD_AUTO;
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    pthread_t a = start(reclamation, NULL), b = start(resuming, NULL);
    reclaimer_thread_ends();
    finish(a);
    finish(b);
    assert(!reclaimer_lives() && atomic_load_explicit(&reclaimer->pauses, memory_order_relaxed) == 0);
    return 0;
}
