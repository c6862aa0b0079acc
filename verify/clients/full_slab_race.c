/* full_slab_race - a full slab of which two threads free an object each: one of them clears its mark and returns it,
 * while the owner frees the third.
 *
 * bound     3 threads: 2 frees of the owner's objects, 1 free and 1 allocation by the owner; 3 objects a slab
 * property  exactly one of them returns the slab, and only once
 */
#include "frontend/heap_collect.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 80, OBJECTS = 4 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *number) {
    give(objects[(size_t)number], SIZE, (size_t)number);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i); /* the fourth is of another slab */
    pthread_t a = start(freeing, (void *)0), b = start(freeing, (void *)1);
    give(objects[2], SIZE, 2);
    heap_collect(thread.heap, COLLECT_ALL);
    uint64_t *other = get(80, 10);
    finish(a);
    finish(b);
    give(objects[3], SIZE, 3);
    give(other, 80, 10);
    heap_collect(thread.heap, true);
    uint64_t *all[6];
    for (size_t i = 0; i < 6; i++) all[i] = get(SIZE, 20);
    assert(thread.heap->in_use_count == 2); /* two slabs of three: none of their objects is lost */
    for (size_t i = 0; i < 6; i++) give(all[i], SIZE, 20);
    expect_nothing_left();
    return 0;
}
