/* remote_own - the owner frees its last object of a partial slab, on free's hit path, while a round looks and another
 * thread frees the rest; then it allocates.
 *
 * bound     3 threads: 1 round that gives all back; 1 free; 1 free and 1 allocation by the owner; a slab of 3 objects
 * property  no object is given out twice, and no slab is lost
 */
#include "verify/clients/remote.h"

enum { SIZE = 80, SLAB = 3 };

int main(void) {
    model_keeps_discarded = true;
    begin(SIZE, SLAB + 1); /* a full slab, and a current one */
    give(objects[0], SIZE, 0);
    uint64_t *later[3]; /* of the current one */
    for (size_t i = 0; i < 2; i++) later[i] = get(SIZE, 10 + i);
    pthread_t a = start_free(2), b = start(remote_round, ALL);
    give(objects[1], SIZE, 1);
    later[2] = get(SIZE, 12);
    finish(a);
    finish(b);
    for (size_t i = 0; i < 3; i++) give(later[i], SIZE, 10 + i);
    give(objects[3], SIZE, 3);
    expect_nothing_left();
    return 0;
}
