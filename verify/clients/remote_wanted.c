/* remote_wanted - memory is short: a full slab becomes wanted while a round looks, and the budget means something else
 * from then on.
 *
 * bound     2 threads: 1 round that gives all back; the owner; a slab of 4 objects, of which others have freed 3
 * property  no memory is given back that is in use, and no slab is lost
 * defines   -DJW_REOPEN_SHARE=2
 */
#include "frontend/heap_slabs.h"
#include "verify/clients/remote.h"

enum { SIZE = 64, SLAB = 4, LIVE = SLAB - 1 }; /* the live object has no zeros */

int main(void) {
    begin(SIZE, SLAB + 1); /* the fifth is of another slab */
    for (size_t i = 0; i < LIVE; i++) finish(start_free(i));
    pthread_t other = start(remote_round, ALL);
    heap_want_slab(slab_of(objects[LIVE]));
    finish(other);
    for (size_t i = LIVE; i <= SLAB; i++) give(objects[i], SIZE, i);
    expect_nothing_left();
    return 0;
}
