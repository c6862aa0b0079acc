/* pool_watermark - a heap that keeps no pool: a slab is emptied and goes to the backend, while another thread takes a
 * granule for a slab of another class.
 *
 * bound     2 threads: 1 free by the owner, which empties a slab; 1 allocation by the other; 2 objects a slab
 * property  every granule has one user at a time, and none is lost
 */
#include "config/options.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 3, OTHER = 48 };

static uint64_t *objects[OBJECTS];
static struct heap *heap;

static void *allocating(void *object) {
    heap_enter(heap);
    *(uint64_t **)object = get(OTHER, 10);
    return NULL;
}

int main(void) {
    start_allocator();
    atomic_store_explicit(&options.pool_min, 0, memory_order_relaxed);
    atomic_store_explicit(&options.pool_percent, 0, memory_order_relaxed);
    atomic_store_explicit(&options.pool_total, 0, memory_order_relaxed);
    heap = heap_take_or_create();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    give(objects[0], SIZE, 0);
    uint64_t *other;
    pthread_t a = start(allocating, &other);
    give(objects[1], SIZE, 1);
    assert(pool_is_empty(&thread.heap->pool) && thread.heap->in_use_count == 1);
    finish(a);
    give(other, OTHER, 10);
    uint64_t *again[2] = {get(SIZE, 3), get(SIZE, 4)}; /* the second needs another slab */
    for (size_t i = 0; i < 2; i++) give(again[i], SIZE, 3 + i);
    give(objects[2], SIZE, 2);
    heap_abandon(heap);
    expect_nothing_left();
    return 0;
}
