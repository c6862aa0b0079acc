/* cached_object - an object of a full slab is cached, given out again, and cached. Meanwhile another thread frees the
 * slab's other one and returns the slab. The owner looks for such slabs when its cache is empty.
 *
 * bound     2 threads: 2 frees and 3 allocations by the owner; 2 frees by the other; 2 objects a slab, 2 may be cached
 * property  no object is lost or given out twice, and no slab is lost
 * defines   -DJW_OBJECT_CACHE_ENTRIES=2
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *objects[4];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[1], SIZE, 1);
    give(objects[3], SIZE, 3);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < 4; i++) objects[i] = get(SIZE, i); /* a full slab, and the current one without objects */
    pthread_t other = start(freeing, NULL);
    give(objects[0], SIZE, 0);
    uint64_t *again = get(SIZE, 10);
    assert(again == objects[0]);
    give(again, SIZE, 10); /* the second: they are counted, and the slab is taken back where it has come */
    uint64_t *cached = get(SIZE, 11), *refilled = get(SIZE, 12);
    assert(cached == again);
    finish(other);
    give(cached, SIZE, 11);
    give(refilled, SIZE, 12);
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
