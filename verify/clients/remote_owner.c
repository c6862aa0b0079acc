/* remote_owner - a round gives back a slab that others have emptied, while its owner wakes up and comes to that slab.
 *
 * bound     2 threads: 1 round that gives all back; 2 allocations by the owner; a slab of 2 objects, all freed before
 * property  no memory is given back that is in use, no object is given out twice, and no slab is lost
 */
#include "verify/clients/remote.h"

enum { SIZE = 112, OBJECTS = 4 };

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0], SIZE, 0);
    give(objects[1], SIZE, 1);
    return NULL;
}

int main(void) {
    begin(SIZE, OBJECTS); /* two full slabs */
    finish(start(freeing, NULL));
    pthread_t other = start(remote_round, ALL);
    uint64_t *later[2];
    for (size_t i = 0; i < 2; i++) later[i] = get(SIZE, 10 + i);
    finish(other);
    for (size_t i = 0; i < 2; i++) give(later[i], SIZE, 10 + i);
    for (size_t i = 2; i < OBJECTS; i++) give(objects[i], SIZE, i);
    expect_nothing_left();
    return 0;
}
