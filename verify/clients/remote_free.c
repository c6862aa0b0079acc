/* remote_free - a round looks at a full slab while two threads free its objects, one of which returns it to its owner.
 *
 * bound     3 threads: 1 round that gives all back; 1 free each of two; a slab of 2 objects
 * property  no memory is given back that is in use, and no slab is lost
 */
#include "verify/clients/remote.h"

enum { SIZE = 112, OBJECTS = 3 };

int main(void) {
    begin(SIZE, OBJECTS); /* a full slab, and a current one */
    pthread_t a = start_free(0), b = start_free(1);
    remote_reclaim_round(true);
    finish(a);
    finish(b);
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
