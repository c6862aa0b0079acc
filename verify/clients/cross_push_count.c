/* cross_push_count - the periodic count: the owner tells by counts alone that all objects of a slab have come back, of
 * a partial and a current one. Two threads free the last ones meanwhile.
 *
 * bound     3 threads: 3 frees of the owner's objects, 1 periodic look and 2 allocations by the owner; 3 objects a slab
 * property  no slab counts as empty before its last object is back: what is then made of it is the owner's alone
 */
#include "frontend/heap_collect.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 80, OBJECTS = 4, OTHER = 112 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *number) {
    size_t first = (size_t)number;
    give(objects[first], SIZE, first);
    if (first == 0) give(objects[3], SIZE, 3); /* the current slab's */
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    give(objects[2], SIZE, 2); /* the first slab is partial now */
    pthread_t a = start(freeing, (void *)0), b = start(freeing, (void *)1);
    heap_collect(thread.heap, COLLECT_SOME);
    uint64_t *other = get(OTHER, 10), *another = get(SIZE, 11); /* of an emptied slab, if there is one */
    finish(a);
    finish(b);
    give(other, OTHER, 10);
    give(another, SIZE, 11);
    heap_collect(thread.heap, COLLECT_ALL);
    uint64_t *all[6];
    for (size_t i = 0; i < 6; i++) all[i] = get(SIZE, 20);
    assert(thread.heap->in_use_count == 2); /* two slabs of three: none of their objects is lost */
    for (size_t i = 0; i < 6; i++) give(all[i], SIZE, 20);
    expect_nothing_left();
    return 0;
}
