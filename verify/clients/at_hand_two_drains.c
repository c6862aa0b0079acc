/* at_hand_two_drains - two threads drain what is at hand of a third one, which sleeps.
 *
 * bound     2 threads: 1 round; 1 purge. Three ranges at hand, one of them is old
 * property  each range is taken once, and the count of what was taken is right
 * defines   -DJW_AT_HAND_WAYS=2 -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/ranges.h"

enum { SIZE = 2 * GRANULE_SIZE, OBJECTS = 3 };

static struct at_hand at_hand;

static void *draining(void *unused) {
    (void)unused;
    at_hand_drain(&at_hand, false);
    return NULL;
}

static void *purging(void *unused) {
    (void)unused;
    at_hand_drain(&at_hand, true);
    return NULL;
}

int main(void) {
    void *objects[OBJECTS];
    bool zeroed;
    begin();
    at_hand_enter(&at_hand);
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = backend_allocate(i < 2 ? SIZE : GRANULE_SIZE, 1, &zeroed);
    for (size_t i = 0; i < OBJECTS; i++) {
        granule_id range = backend_take_whole(objects[i]);
        assert(range);
        backend_keep(&at_hand, range);
        if (i == 0) at_hand_drain(&at_hand, false);
    }
    assert(at_hand_granules(&at_hand) == 5);
    pthread_t a = start(draining, NULL), b = start(purging, NULL);
    finish(a);
    finish(b);
    assert(at_hand_granules(&at_hand) == 0);
    assert(atomic_load_explicit(&at_hand.drained, memory_order_relaxed) == 5);
    at_hand_enter(NULL);
    end();
    return 0;
}
