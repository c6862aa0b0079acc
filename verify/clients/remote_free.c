/* remote_free - a round looks at a full slab while two threads free its objects, one of which brings it to its owner.
 *
 * bound     3 threads: 1 round that gives all back; 1 free each of two; a slab of 2 objects
 * property  no memory is given back that is in use, and no slab is lost
 */
#include "frontend/remote_reclaim.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 3 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *number) {
    give(objects[(size_t)number], SIZE, (size_t)number);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i); /* a full slab, and a current one */
    pthread_t a = start(freeing, (void *)0), b = start(freeing, (void *)1);
    remote_reclaim_round(true);
    finish(a);
    finish(b);
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
