/* purges_at_once - two threads purge at once, and a round comes after both.
 *
 * bound     2 threads: 1 purge of emptied slabs each; 2 slabs of 2 objects, one emptied before, one after
 * property  after both purges the first slab is given back, and the next round can give back the second one
 */
#include "backend/timed_purge.h"
#include "frontend/slab_cross.h"
#include "verify/clients/remote.h"

enum { SIZE = 112, OBJECTS = 5 };

static void *freeing(void *first) {
    for (size_t i = (size_t)first; i < (size_t)first + 2; i++) give(objects[i], SIZE, i);
    return NULL;
}

static void *purging(void *unused) {
    struct purge purge;
    purge.until = NO_LIMIT;
    purge.place = 0;
    bool over = remote_reclaim_purge(&purge);
    assert(over);
    return unused;
}

int main(void) {
    begin(SIZE, OBJECTS); /* two full slabs, and a current one */
    finish(start(freeing, (void *)0));
    pthread_t other = start(purging, NULL);
    purging(NULL);
    finish(other);
    assert(slab_is_taken(slab_of(objects[0])));
    finish(start(freeing, (void *)2));
    remote_reclaim_round(true);
    assert(slab_is_taken(slab_of(objects[2])));
    give(objects[4], SIZE, 4);
    expect_nothing_left();
    return 0;
}
