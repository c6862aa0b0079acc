/* remote_leave - a slab's owner takes it up again and allocates from it. Meanwhile another thread frees the last object
 * that was out before, and a round looks. What the round reads of the owner's must not be from before.
 *
 * bound     3 threads: 1 round that gives all back; 1 free; 1 allocation by the owner; a slab of 3 objects, of which
 *           others have freed 1 and the owner 1
 * property  no memory is given back that is in use, no object is given out twice, and no slab is lost
 */
#include "verify/clients/remote.h"

enum { SIZE = 80, SLAB = 3 };

int main(void) {
    begin(SIZE, SLAB + 1); /* a full slab, and a current one */
    give(objects[0], SIZE, 0);
    assert(slab_state(slab_of(objects[0])) == PARTIAL);
    uint64_t *others[2]; /* all of the current one */
    for (size_t i = 0; i < 2; i++) others[i] = get(SIZE, 20 + i);
    finish(start_free(1));
    pthread_t a = start_free(2), b = start(remote_round, ALL);
    uint64_t *later = get(SIZE, 10);
    finish(a);
    finish(b);
    give(later, SIZE, 10);
    for (size_t i = 0; i < 2; i++) give(others[i], SIZE, 20 + i);
    give(objects[SLAB], SIZE, SLAB);
    expect_nothing_left();
    return 0;
}
