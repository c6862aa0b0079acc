/* reopened_stack - two threads return a full slab each to a heap whose owner takes back what it finds.
 *
 * bound     3 threads: 2 slabs reopened, 2 looks of the owner at its stack; 2 objects a slab
 * property  each slab comes back once, and all of its objects with it
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 5 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *number) {
    give(objects[(size_t)number], SIZE, (size_t)number);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i); /* two full slabs, and a current one */
    pthread_t a = start(freeing, (void *)0), b = start(freeing, (void *)2);
    uint64_t *later[3];
    for (size_t i = 0; i < 3; i++) later[i] = get(SIZE, 10 + i);
    finish(a);
    finish(b);
    for (size_t i = 0; i < 3; i++) give(later[i], SIZE, 10 + i);
    give(objects[1], SIZE, 1);
    give(objects[3], SIZE, 3);
    give(objects[4], SIZE, 4);
    expect_nothing_left();
    return 0;
}
