/* remote_refill - the owner's free makes a full slab the current one at once. Meanwhile another thread that has freed
 * its other object is on the way with it, and a round looks.
 *
 * bound     3 threads: 1 round that gives all back; 1 free; 1 free and 1 allocation by the owner; a slab of 2 objects
 * property  no object is given out twice, and no slab is lost
 */
#include "verify/clients/remote.h"

enum { SIZE = 112, OBJECTS = 4 };

int main(void) {
    model_keeps_discarded = true;
    begin(SIZE, OBJECTS); /* a full slab, and a current one */
    pthread_t a = start_free(1), b = start(remote_round, ALL);
    give(objects[0], SIZE, 0);
    uint64_t *later[2];
    for (size_t i = 0; i < 2; i++) later[i] = get(SIZE, 10 + i);
    finish(a);
    finish(b);
    for (size_t i = 0; i < 2; i++) give(later[i], SIZE, 10 + i);
    for (size_t i = 2; i < OBJECTS; i++) give(objects[i], SIZE, i);
    expect_nothing_left();
    return 0;
}
