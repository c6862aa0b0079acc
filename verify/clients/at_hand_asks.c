/* at_hand_asks - a thread puts a range at hand and sleeps; there is no reclamation thread yet.
 *
 * bound     1 thread: 1 free; the reclamation thread that this has started, until it ends
 * property  the thread is started, and ends only when the range has gone back to the OS
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1 -DJW_AT_HAND_WAYS=1
 */
#include "verify/clients/reclamation.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct at_hand at_hand;

static bool on_round(void) {
    bool left = at_hand_drain(&at_hand, false);
    if (left) thrift_wake(); /* as the frontend's round */
    return left;
}

int main(void) {
    bool zeroed;
    begin();
    begin_reclamation();
    void *object = backend_allocate(SIZE, 1, &zeroed);
    thrift_on_round(ROUND_SLABS, on_round, NULL);
    run_started(); /* the new root has started one */
    at_hand_enter(&at_hand);
    granule_id range = backend_take_whole(object);
    backend_keep(&at_hand, range);
    at_hand_enter(NULL);
    run_started();
    assert(at_hand_granules(&at_hand) == 0 && range_cached(MAPPED) == 0);
    end();
    return 0;
}
