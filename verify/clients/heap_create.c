/* heap_create - new heaps: three threads make one each, the first ones of a chunk at once.
 *
 * bound     3 threads: 1 new heap each; 2 heaps a chunk
 * property  each heap has a number and memory of its own
 * defines   -DMODEL_PAGES=16384
 */
#include "verify/clients/frontend_client.h"

static struct heap *heaps[3];

static void *creating(void *at) {
    struct heap *heap = heap_take_or_create();
    heap->maintenance_ticks = 1;
    *(struct heap **)at = heap;
    return NULL;
}

int main(void) {
    start_allocator();
    pthread_t a = start(creating, &heaps[0]), b = start(creating, &heaps[1]);
    creating(&heaps[2]);
    finish(a);
    finish(b);
    assert(heap_count() == 3);
    uint32_t numbers = 0;
    for (unsigned i = 0; i < 3; i++) {
        assert(heaps[i]->maintenance_ticks == 1 && heap_by_number(heaps[i]->number) == heaps[i]);
        numbers |= 1u << heaps[i]->number;
    }
    assert(numbers == (1u << 1 | 1u << 2 | 1u << 3));
    for (unsigned i = 0; i < 3; i++) heap_abandon(heaps[i]);
    thrift_purge(); /* drains two of them at a time */
    expect_heaps_rest();
    return 0;
}
