/* remote_rounds - two threads go round at a time, one of them to give all back now: malloc_trim beside a round.
 *
 * bound     3 threads: 2 rounds; 1 free; a slab of 2 objects, of which 1 is freed before
 * property  the slab is given back once, and what the freeing thread did before is over
 */
#include "verify/clients/remote.h"

#include "frontend/slab_cross.h"

enum { SIZE = 112, OBJECTS = 3 };

int main(void) {
    begin(SIZE, OBJECTS); /* a full slab, and a current one */
    finish(start_free(0));
    pthread_t a = start_free(1), b = start(remote_round, NULL);
    remote_reclaim_round(true);
    finish(a);
    finish(b);
    remote_reclaim_round(true);
    assert(slab_is_taken(slab_of(objects[0])));
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
