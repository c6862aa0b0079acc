/* heap_drain_free - the reclamation thread drains an abandoned heap while another thread frees the last objects
 * of its full slab.
 *
 * bound     2 threads: 1 round; 3 frees; slabs of 2 objects, one full and one partial
 * property  no object is lost, no slab goes back while an object of it is live, and none is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OBJECTS = 3 };

static uint64_t *objects[OBJECTS];

static void *freeing(void *unused) {
    (void)unused;
    for (size_t i = 0; i < OBJECTS; i++) give(objects[i], SIZE, i);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < OBJECTS; i++) objects[i] = get(SIZE, i);
    model_thread_exit();
    pthread_t a = start(freeing, NULL);
    thrift_purge();
    finish(a);
    expect_nothing_left();
    return 0;
}
