/* full_slab_refill - an object comes back to a full slab. The slab becomes current only if malloc would find no object
 * of the current slab. Another thread frees into both.
 *
 * bound     2 threads: 3 frees and 2 allocations by the owner; 2 frees by the other; 3 objects a slab
 * property  no object is lost or given out twice, and no slab is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 80, OBJECTS = 6 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[3], SIZE, 3);
    give(objects[1], SIZE, 1);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++)
        objects[i] = get(SIZE, i); /* a full slab, and the current one without objects */
    pthread_t other = start(freeing, NULL);
    give(objects[4], SIZE, 4);
    give(objects[0], SIZE, 0);
    uint64_t *again = get(SIZE, 10);
    uint64_t *refilled = get(SIZE, 11);
    give(objects[5], SIZE, 5);
    finish(other);
    give(objects[2], SIZE, 2);
    give(again, SIZE, 10);
    give(refilled, SIZE, 11);
    expect_nothing_left();
    return 0;
}
