/* remote_rounds - two threads go round at a time, one of them to give all back now: malloc_trim beside a round.
 *
 * bound     3 threads: 2 rounds; 1 free; a slab of 2 objects, of which 1 is freed before
 * property  the slab is given back once, and what the freeing thread did before is over
 */
#include "frontend/remote_reclaim.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 3 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *number) {
    give(objects[(size_t)number], SIZE, (size_t)number);
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
    finish(start(freeing, (void *)0));
    pthread_t a = start(freeing, (void *)1), b = start(going_round, NULL);
    remote_reclaim_round(true);
    finish(a);
    finish(b);
    remote_reclaim_round(true);
    assert(slab_is_taken(slab_of(objects[0])));
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
