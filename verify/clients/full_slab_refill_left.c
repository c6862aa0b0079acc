/* full_slab_refill_left - an object comes back to a full slab when no more may be cached and the local list is empty.
 * But the current slab has an object that was put back, so the full slab does not become current. Another thread frees
 * into both.
 *
 * bound     2 threads: 8 frees by the owner; 2 frees by the other; 2 objects a slab, 2 may be cached
 * property  no object is lost or given out twice, and no slab is lost
 * defines   -DJW_OBJECT_CACHE_ENTRIES=2
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 10 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[9], SIZE, 9);
    give(objects[5], SIZE, 5);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++)
        objects[i] = get(SIZE, i); /* full slabs, and the current one without objects */
    pthread_t other = start(freeing, NULL);
    give(objects[8], SIZE, 8);
    give(objects[0], SIZE, 0);
    give(objects[2], SIZE, 2); /* one too many: all go back to their slabs */
    give(objects[1], SIZE, 1);
    give(objects[3], SIZE, 3);
    give(objects[4], SIZE, 4);
    give(objects[6], SIZE, 6);
    finish(other);
    give(objects[7], SIZE, 7);
    expect_nothing_left();
    return 0;
}
