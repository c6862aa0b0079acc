/* heap_drain_take - the reclamation thread drains two abandoned heaps while another thread takes one.
 *
 * bound     2 threads: 1 round's draining; 1 allocation and the end of its thread; slabs of 3 objects, 2 of them freed
 *           before
 * property  a heap is in one thread's hands at a time; neither it nor a slab is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 80, HEAPS = 2, OBJECTS = 3 };

static uint64_t *objects[HEAPS][OBJECTS];

static void *taking(void *unused) {
    (void)unused;
    give(get(SIZE, 10), SIZE, 10);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    struct heap *heaps[HEAPS];
    for (size_t h = 0; h < HEAPS; h++) {
        heaps[h] = heap_take_or_create();
        heap_enter(heaps[h]);
        for (size_t i = 0; i < OBJECTS; i++) objects[h][i] = get(SIZE, h);
        heap_enter(&no_heap);
    }
    for (size_t h = 0; h < HEAPS; h++) {
        heap_abandon(heaps[h]);
        for (size_t i = 1; i < OBJECTS; i++) give(objects[h][i], SIZE, h);
    }
    pthread_t a = start(taking, NULL);
    heap_drain_abandoned(); /* a whole round would look through all Nests, too */
    finish(a);
    for (size_t h = 0; h < HEAPS; h++) give(objects[h][0], SIZE, h);
    expect_heaps_rest();
    expect_nothing_left();
    return 0;
}
