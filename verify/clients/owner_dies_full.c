/* owner_dies_full - the owner of a full slab ends. Meanwhile another thread frees an object of it, and so returns the
 * slab to the owner's heap. The heap may be about to be left, abandoned, or taken by a third thread.
 *
 * bound     3 threads: the end of the owner; 1 free by another; 2 allocations and the end of a third; 2 objects a slab
 * property  no object is lost or given out twice, and no slab is lost
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
    uint64_t *mine = get(SIZE, 10), *second = get(SIZE, 11);
    give(mine, SIZE, 10);
    give(second, SIZE, 11);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    pthread_t a = start(freeing, NULL), b = start(taking, NULL);
    model_thread_exit();
    finish(a);
    finish(b);
    give(objects[1], SIZE, 1);
    give(objects[2], SIZE, 2);
    expect_nothing_left();
    return 0;
}
