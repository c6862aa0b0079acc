/* pause_sleeping - the reclamation thread of a program of several threads goes to sleep without limit, while main asks
 * for a round and then pauses the thread.
 *
 * bound     2 threads: the reclamation thread, after its quiet rounds; 1 ask and 1 pause by main
 * property  the thread sees the pause or is woken, and so ends. A lost wake-up is a livelock
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "backend/reclaimer.h"
#include "verify/clients/reclamation.h"

int main(void) {
    begin();
    begin_reclamation();
    options.reclaim_thread = THREAD_AUTO;
    reclaimer_before_thread_create();
    reclaimer_after_thread_create(true);
    pthread_t a = start(reclamation, NULL);
    thrift_wake();
    reclaimer_pause();
    finish(a);
    assert(!reclaimer_lives());
    return 0;
}
