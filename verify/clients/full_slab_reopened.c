/* full_slab_reopened - a full slab waits until two of its objects have come back; while its owner frees them, another
 * thread frees a third and returns the slab.
 *
 * bound     2 threads: 1 free of the owner's object; 3 frees and a collection by the owner; 4 objects a slab
 * property  what has come back before the owner takes the slab back is counted, and the slab becomes empty
 * defines   -DJW_REOPEN_SHARE=2
 */
#include "frontend/heap_collect.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 64, SLAB = 4 };

static uint64_t *objects[SLAB + 1];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[3], SIZE, 3);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i <= SLAB; i++) objects[i] = get(SIZE, i); /* the fifth is of another slab */
    pthread_t other = start(freeing, NULL);
    give(objects[0], SIZE, 0);
    heap_collect(thread.heap, COLLECT_ALL);
    give(objects[1], SIZE, 1);
    finish(other);
    give(objects[2], SIZE, 2);
    heap_collect(thread.heap, COLLECT_ALL);
    assert(thread.heap->in_use_count == 1);
    give(objects[4], SIZE, 4);
    expect_nothing_left();
    return 0;
}
