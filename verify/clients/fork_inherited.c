/* fork_inherited - in the child of a fork, a round visits the inherited heaps while one thread frees into them and
 * another takes a heap.
 *
 * bound     3 threads: 1 visit of a round; 1 free; 1 allocation and the end of its thread; 2 heaps from before the
 *           fork, one attached to the forking thread and one abandoned, with a full slab each
 * property  no thread takes a heap with an older key; neither heap, nor a slab, nor an object is lost
 */
#include "frontend/heap_fork.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 2, HEAPS = 2 };

static uint64_t *objects[HEAPS][OBJECTS];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0][0], SIZE, 0);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    uint64_t *object = get(SIZE, 10);
    assert(!heap_is_older(thread.heap));
    give(object, SIZE, 10);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    struct heap *other = heap_take_or_create();
    heap_enter(other);
    for (size_t i = 0; i < OBJECTS; i++) objects[1][i] = get(SIZE, i);
    heap_enter(&no_heap);
    for (size_t i = 0; i < OBJECTS; i++) objects[0][i] = get(SIZE, i);
    heap_abandon(other);
    heap_before_fork();
    heap_after_fork(true);
    pthread_t a = start(freeing, NULL), b = start(taking, NULL);
    heap_visit_inherited(heap_drain_if_freed_into, heap_push_drained); /* a whole round would look at Nests, too */
    finish(a);
    finish(b);
    give(objects[0][1], SIZE, 1);
    for (size_t i = 0; i < OBJECTS; i++) give(objects[1][i], SIZE, i);
    thrift_purge();
    expect_heaps_rest();
    expect_nothing_left();
    return 0;
}
