/* progress_owner - a thread takes the heap of an ended one, whose slabs are full, partial and empty. It may stop for
 * good at any of its steps: while it takes its slabs back, allocates, frees, looks at its slabs, or ends. Then another
 * thread frees objects of these slabs, runs a round, takes a heap and allocates.
 *
 * bound     2 threads: 3 allocations and 1 free by the owner, then 1 periodic look and 1 free, or its end | then 4
 *           frees of its objects, 1 purge, 2 allocations and 2 frees; 2 objects a slab, 4 slabs
 * property  no operation waits for another thread: each ends, whatever step the owner has stopped at; no object is
 *           given out twice
 */
#include "frontend/heap_collect.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 8, STILL = 4 };

static uint64_t *objects[OBJECTS];

static void *owning(void *unused) {
    (void)unused;
    checker_may_stop(true);
    uint64_t *mine[3];
    for (size_t i = 0; i < 3; i++) mine[i] = get(SIZE, 10 + i);
    give(objects[STILL + 1], SIZE, STILL + 1);
    if (checker_choose(2)) {
        heap_collect(thread_heap(), COLLECT_ALL);
        give(mine[0], SIZE, 10);
    } else {
        model_thread_exit();
    }
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    give(objects[2], SIZE, 2);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    finish(start(freeing, NULL)); /* one slab is to be returned to its owner */
    give(objects[0], SIZE, 0);
    give(objects[1], SIZE, 1);
    model_thread_exit();
    finish(start(owning, NULL));
    give(objects[3], SIZE, 3);
    give(objects[STILL], SIZE, STILL);
    for (size_t i = STILL + 2; i < OBJECTS; i++) give(objects[i], SIZE, i);
    thrift_purge();
    uint64_t *one = get(SIZE, 20), *two = get(SIZE, 21);
    give(one, SIZE, 20);
    give(two, SIZE, 21);
    return 0;
}
