/* fork_inherited_visits - in the child of a fork, two threads visit the inherited heaps: a round, and a purge.
 *
 * bound     2 threads: 1 visit each; 2 heaps from before the fork, with a full slab each, one of whose objects is free
 * property  a heap has one visitor at a time; neither heap nor a slab is lost
 */
#include "frontend/heap_collect.h"
#include "frontend/heap_fork.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 2, HEAPS = 2 };

static uint64_t *objects[HEAPS][OBJECTS];

static void *purging(void *unused) {
    (void)unused;
    heap_visit_inherited(heap_drain, heap_push_drained);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t h = 0; h < HEAPS; h++) {
        struct heap *heap = heap_take_or_create();
        heap_enter(heap);
        for (size_t i = 0; i < OBJECTS; i++) objects[h][i] = get(SIZE, i);
        heap_before_fork();
        heap_after_fork(true);
    }
    for (size_t h = 0; h < HEAPS; h++) give(objects[h][0], SIZE, 0);
    pthread_t a = start(purging, NULL);
    heap_visit_inherited(heap_drain_if_freed_into, heap_push_drained);
    finish(a);
    for (size_t h = 0; h < HEAPS; h++) give(objects[h][1], SIZE, 1);
    thrift_purge();
    expect_heaps_rest();
    expect_nothing_left();
    return 0;
}
