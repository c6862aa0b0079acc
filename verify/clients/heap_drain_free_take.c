/* heap_drain_free_take - an abandoned heap is drained while another thread frees into it and a third takes it.
 *
 * bound     3 threads: 1 round's draining; 1 free; 1 allocation and the end of its thread; a full slab of 2 objects
 * property  the heap is in one thread's hands at a time; neither it, nor a slab, nor an object is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 3 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0], SIZE, 0);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    give(get(SIZE, 10), SIZE, 10);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    model_thread_exit();
    pthread_t a = start(freeing, NULL), b = start(taking, NULL);
    heap_drain_abandoned(); /* a whole round would look through all Nests, too */
    finish(a);
    finish(b);
    for (size_t i = 1; i < OBJECTS; i++) give(objects[i], SIZE, i);
    expect_heaps_rest();
    expect_nothing_left();
    return 0;
}
