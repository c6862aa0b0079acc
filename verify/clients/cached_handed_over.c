/* cached_handed_over - the owner of a cached object ends. Meanwhile another thread frees the other object of that slab,
 * and so returns the slab to the owner's heap. That heap may be about to be abandoned, abandoned, or another thread's.
 *
 * bound     2 threads: the end of the owner, 2 allocations and the end of the heap's next thread; 1 free; 2 objects
 *           a slab
 * property  no object is lost or given out twice, and no slab is lost
 * defines   -DJW_OBJECT_CACHE_ENTRIES=2
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 3 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0], SIZE, 0);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i); /* a full slab, and the current one */
    give(objects[1], SIZE, 1);
    struct slab *slab = slab_of(objects[1]);
    assert(thread.heap->local[slab->class].first == objects[1] && slab->state == FULL);
    pthread_t other = start(freeing, NULL);
    model_thread_exit();
    struct heap *heap = heap_take_or_create();
    heap_enter(heap);
    uint64_t *first = get(SIZE, 10), *second = get(SIZE, 11);
    give(first, SIZE, 10);
    give(second, SIZE, 11);
    finish(other);
    give(objects[2], SIZE, 2);
    heap_enter(&no_heap);
    heap_abandon(heap);
    expect_nothing_left();
    return 0;
}
