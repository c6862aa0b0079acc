/* remote_purge - a thread wants all given back at once while another one is in a round that only looks.
 *
 * bound     2 threads: 1 round each; a slab of 2 objects, both freed before
 * property  after both the slab is given back, whoever did it
 */
#include "frontend/remote_reclaim.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 3 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *unused) {
    (void)unused;
    for (size_t i = 0; i < 2; i++) give(objects[i], SIZE, i);
    return NULL;
}

static void *going_round(void *unused) {
    (void)unused;
    remote_reclaim_round(false);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i); /* a full slab, and a current one */
    finish(start(freeing, NULL));
    pthread_t other = start(going_round, NULL);
    remote_reclaim_round(true);
    finish(other);
    assert(slab_is_taken(slab_of(objects[0])));
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
