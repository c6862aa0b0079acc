/* remote_epoch - a full slab becomes a partial one by its owner's frees while a round looks: the budget means something
 * else from then on.
 *
 * bound     2 threads: 1 round that gives all back; 2 frees by the owner; a slab of 4 objects, of which others have
 *           freed 1
 * property  no memory is given back that is in use, and no slab is lost
 */
#include "verify/clients/remote.h"

enum { SIZE = 64, SLAB = 4 };

int main(void) {
    begin(SIZE, SLAB + 1); /* the fifth is of another slab */
    finish(start_free(3));
    pthread_t other = start(remote_round, ALL);
    give(objects[0], SIZE, 0);
    finish(other);
    for (size_t i = 1; i < 3; i++) give(objects[i], SIZE, i);
    give(objects[4], SIZE, 4);
    expect_nothing_left();
    return 0;
}
