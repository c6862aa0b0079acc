/* remote_purge - a thread purges while another one is in an ordinary round.
 *
 * bound     2 threads: 1 round each; a slab of 2 objects, both freed before
 * property  after both rounds the slab is given back
 */
#include "verify/clients/remote.h"

#include "frontend/slab_cross.h"

enum { SIZE = 112, OBJECTS = 3 };

static void *freeing(void *unused) {
    (void)unused;
    for (size_t i = 0; i < 2; i++) give(objects[i], SIZE, i);
    return NULL;
}

int main(void) {
    begin(SIZE, OBJECTS); /* a full slab, and a current one */
    finish(start(freeing, NULL));
    pthread_t other = start(remote_round, NULL);
    remote_reclaim_round(true);
    finish(other);
    assert(slab_is_taken(slab_of(objects[0])));
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
