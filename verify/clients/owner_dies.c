/* owner_dies - the owner of a slab ends while another thread frees its objects, and then takes a heap: the dead
 * thread's, or a new one.
 *
 * bound     2 threads: 1 free by the owner and its end; 1 free, 2 allocations and the end of the other; 5 objects a
 *           slab
 * property  no object is lost or given out twice, and no slab is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 48, OBJECTS = 3 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0], SIZE, 0);
    uint64_t *mine = get(SIZE, 10), *second = get(SIZE, 11);
    give(mine, SIZE, 10);
    give(second, SIZE, 11);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    pthread_t a = start(freeing, NULL);
    give(objects[2], SIZE, 2);
    model_thread_exit();
    finish(a);
    give(objects[1], SIZE, 1);
    expect_nothing_left();
    return 0;
}
