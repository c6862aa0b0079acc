/* slab_reused - two threads free the last objects of a full slab, and its owner makes a slab of another class of it: no
 * push of before may reach the new one.
 *
 * bound     3 threads: 2 frees by others; 1 look at all slabs and 3 allocations of another class; 2 objects a slab
 * property  the new slab has its own objects only, each its holder's alone
 */
#include "frontend/heap_collect.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OTHER = 80 };

static uint64_t *objects[2], *later;

static void *freeing(void *number) {
    give(objects[(size_t)number], SIZE, (size_t)number);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < 2; i++) objects[i] = get(SIZE, i);
    later = get(SIZE, 2); /* the first slab is full now */
    pthread_t a = start(freeing, (void *)0), b = start(freeing, (void *)1);
    heap_collect(thread.heap, COLLECT_ALL);
    uint64_t *first = get(OTHER, 10), *second = get(OTHER, 11), *third = get(OTHER, 12);
    struct slab *slab = slab_of(first);
    assert(slab == slab_of(second) && cross_count(&slab->cross) == 0);
    finish(a);
    finish(b);
    give(first, OTHER, 10);
    give(second, OTHER, 11);
    give(third, OTHER, 12);
    give(later, SIZE, 2);
    expect_nothing_left();
    return 0;
}
