/* never_written - objects that no thread writes into: what the allocator left in them must not read as a link.
 *
 * bound     2 threads; 5 small and 5 mid objects allocated and freed twice; then 1 of each is freed by the
 *           other thread, while 5 are allocated and freed once more
 * property  an object that is given out begins with 0, unless it was never in a list; no free of it is a double one
 * defines   -DJW_OBJECT_CACHE_ENTRIES=2
 */
#include "verify/clients/frontend_client.h"

enum { OF_SLAB = 112, OF_MIDEND = 128, MANY = 5 };

static void *freeing(void *object) {
    jw_free(object);
    model_thread_exit();
    return NULL;
}

static void many(size_t size, bool again) {
    uint64_t *objects[MANY];
    for (size_t i = 0; i < MANY; i++) {
        objects[i] = jw_malloc(size);
        assert(objects[i] && (!again || *objects[i] == 0));
    }
    for (size_t i = 0; i < MANY; i++) jw_free(objects[i]);
}

static void twice(size_t size) {
    many(size, false);
    many(size, true);
    uint64_t *again = jw_malloc(size);
    assert(again && *again == 0);
    pthread_t other = start(freeing, again);
    many(size, true);
    finish(other);
}

int main(void) {
    start_allocator();
    twice(OF_SLAB);
    twice(OF_MIDEND);
    expect_nothing_left();
    return 0;
}
