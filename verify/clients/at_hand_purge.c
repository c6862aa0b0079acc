/* at_hand_purge - a thread puts a range at hand and takes it again, while another one wants all memory back.
 *
 * bound     2 threads: 1 free, 1 allocation, 1 free of a large object | 1 purge
 * property  the object is its thread's alone, and its contents are gone when the purge has it; in the end the range is
 *           free once, and the thread's count of granules at hand is right
 * defines   -DJW_AT_HAND_WAYS=1 -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/at_hand_owner.h"

static void *purging(void *unused) {
    (void)unused;
    at_hand_drain(&at_hand, true);
    return NULL;
}

int main(void) {
    own_beside(purging);
    return 0;
}
