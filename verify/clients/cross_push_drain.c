/* cross_push_drain - the cross list: two threads push. Meanwhile the owner, whose slab has no object left, drains it on
 * demand, or marks it full and goes on with another one.
 *
 * bound     3 threads: 2 frees of the owner's objects, 2 allocations by the owner; 3 objects a slab
 * property  no object is lost or given out twice, and no slab is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 80, OBJECTS = 3 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *number) {
    give(objects[(size_t)number], SIZE, (size_t)number);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    pthread_t a = start(freeing, (void *)0), b = start(freeing, (void *)1);
    uint64_t *first = get(SIZE, 10), *second = get(SIZE, 11);
    finish(a);
    finish(b);
    give(first, SIZE, 10);
    give(second, SIZE, 11);
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
