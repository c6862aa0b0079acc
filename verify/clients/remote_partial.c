/* remote_partial - the same of a slab that waits among its class's partial ones: its owner has freed an object itself.
 *
 * bound     2 threads: 1 round that gives all back; 2 allocations by the owner; a slab of 2 objects, all freed before
 * property  no memory is given back that is in use, no object is given out twice, and no slab is lost
 */
#include "verify/clients/remote.h"

enum { SIZE = 112, OBJECTS = 3 };

int main(void) {
    begin(SIZE, OBJECTS); /* a full slab, and a current one */
    give(objects[1], SIZE, 1);
    assert(slab_state(slab_of(objects[0])) == PARTIAL);
    finish(start_free(0));
    pthread_t other = start(remote_round, ALL);
    uint64_t *later[2];
    for (size_t i = 0; i < 2; i++) later[i] = get(SIZE, 10 + i);
    finish(other);
    for (size_t i = 0; i < 2; i++) give(later[i], SIZE, 10 + i);
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
