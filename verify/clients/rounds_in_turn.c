/* rounds_in_turn - where there is no reclamation thread, two freeing threads run rounds, one at a time.
 *
 * bound     2 threads, 1 look each; the interval is 0, and a range waits in the active buffer
 * property  rounds do not overlap, each sees the one before, and what one leaves in standby the next gives back
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1 -DJW_RETRY_PERIOD=1
 */
#include "verify/clients/reclamation.h"

static unsigned rounds; /* plain: one round after the other */

static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    rounds++;
    return false;
}

static void *freeing(void *unused) {
    (void)unused;
    thrift_notice();
    return NULL;
}

int main(void) {
    begin();
    granule_id range = fetch(ROOT_GRANULES);
    begin_reclamation();
    options.reclaim_thread = 0;
    options.reclaim_interval = 0;
    thrift_wake(); /* is refused */
    place(range, MAPPED);
    thrift_on_round(ROUND_SLABS, on_round);
    pthread_t a = start(freeing, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    assert(rounds == 1 || free_granules(MAPPED) == 0);
    end();
    return 0;
}
