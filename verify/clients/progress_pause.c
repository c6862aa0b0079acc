/* progress_pause - a thread starts the reclamation thread, pauses and resumes it, or runs a round in its place. It may
 * stop for good at any of its steps: the start or the pause is announced and does not come, or the round has its turn.
 * Then another thread asks for rounds, fetches, frees and resumes.
 *
 * bound     2 threads: 1 start, 1 pause and resume, or 1 round; with a reclamation thread or without | then 2 requests
 *           for a round, 2 fetches, 2 frees, 1 resume and 1 purge; the interval is 0
 * property  no operation waits for another thread: each ends, whatever step the other has stopped at
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1 -DJW_RETRY_PERIOD=1
 */
#include "backend/reclaimer.h"
#include "verify/clients/reclamation.h"

static void *stopping(void *unused) {
    (void)unused;
    checker_may_stop(true);
    switch (checker_choose(3)) {
    case 0: thrift_wake(); break;
    case 1:
        reclaimer_pause();
        reclaimer_resume();
        break;
    default: thrift_notice();
    }
    return NULL;
}

int main(void) {
    begin();
    granule_id range = fetch(ROOT_GRANULES);
    begin_reclamation();
    options.reclaim_interval = 0;
    if (checker_choose(2)) {
        options.reclaim_thread = 0;
        thrift_wake(); /* is refused */
    }
    place(range, MAPPED);
    finish(start(stopping, NULL));
    for (unsigned times = 0; times < 2; times++) {
        thrift_wake();
        range = fetch(1 + times);
        place(range, MAPPED);
        thrift_notice();
    }
    reclaimer_resume();
    thrift_purge();
    return 0;
}
