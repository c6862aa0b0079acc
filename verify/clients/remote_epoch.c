/* remote_epoch - a full slab becomes a partial one by its owner's frees while a round looks: the budget means something
 * else from then on.
 *
 * bound     2 threads: 1 round that gives all back; 2 frees by the owner; a slab of 4 objects, of which others have
 *           freed 1
 * property  no memory is given back that is in use, and no slab is lost
 */
#include "frontend/remote_reclaim.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 64, SLAB = 4 };

static uint64_t *objects[SLAB + 1];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[3], SIZE, 3);
    return NULL;
}

static void *going_round(void *unused) {
    (void)unused;
    remote_reclaim_round(true);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i <= SLAB; i++) objects[i] = get(SIZE, i); /* the fifth is of another slab */
    finish(start(freeing, NULL));
    pthread_t other = start(going_round, NULL);
    give(objects[0], SIZE, 0);
    finish(other);
    for (size_t i = 1; i < 3; i++) give(objects[i], SIZE, i);
    give(objects[4], SIZE, 4);
    expect_nothing_left();
    return 0;
}
