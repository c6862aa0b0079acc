/* at_hand_round - a thread puts a range at hand and takes it again, while rounds drain what is at hand.
 *
 * bound     2 threads: 1 free, 1 allocation, 1 free of a large object | 2 rounds
 * property  the object is its thread's alone, and what it holds is gone when a round has it; the range is free once in
 *           the end, and the thread's count of what is at hand comes out right
 * defines   -DJW_AT_HAND_WAYS=1 -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/at_hand_owner.h"

static void *draining(void *unused) {
    (void)unused;
    at_hand_drain(&at_hand, false);
    at_hand_drain(&at_hand, false);
    return NULL;
}

int main(void) {
    own_beside(draining);
    return 0;
}
