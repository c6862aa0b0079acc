/* pool_given_back - a round gives a heap's pool back, while the heap's thread needs a slab.
 *
 * bound     2 threads: 2 allocations by the owner, of which the second needs a slab; 1 round; a pool with 1 slab
 * property  no memory is given back that is in use, and no slab is lost
 */
#include "frontend/heap_pool.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 3, AGAIN = 2 };

static void *round_of_reclamation(void *heap) {
    heap_pool_round(heap, true);
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *objects[OBJECTS], *again[AGAIN];
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    for (size_t i = 0; i < OBJECTS - 1; i++) give(objects[i], SIZE, i);
    assert(thread.heap->pool.count == 1);
    pthread_t a = start(round_of_reclamation, thread.heap);
    for (size_t i = 0; i < AGAIN; i++) again[i] = get(SIZE, OBJECTS + i);
    finish(a);
    for (size_t i = 0; i < AGAIN; i++) give(again[i], SIZE, OBJECTS + i);
    give(objects[OBJECTS - 1], SIZE, OBJECTS - 1);
    expect_nothing_left();
    return 0;
}
