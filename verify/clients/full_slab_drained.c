/* full_slab_drained - a slab that has come back, and is without its mark, is full again while others free its objects.
 *
 * bound     2 threads at a time: 1 free of the owner's object, then 2; 2 allocations by the owner; 2 objects a slab
 * property  the slab comes back by others' frees alone; no object is lost or given out twice
 */
#include "frontend/heap_collect.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *objects[2], *again;

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0], SIZE, 0);
    return NULL;
}

static void *freeing_the_rest(void *unused) {
    (void)unused;
    give(objects[1], SIZE, 1);
    give(again, SIZE, 10);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < 2; i++) objects[i] = get(SIZE, i);
    finish(start(freeing, NULL));
    heap_collect(thread.heap, COLLECT_SOME);
    again = get(SIZE, 10);
    assert(again == objects[0] && !slab_of(again)->marked);
    pthread_t other = start(freeing_the_rest, NULL);
    uint64_t *later = get(SIZE, 11);
    finish(other);
    give(later, SIZE, 11);
    expect_nothing_left();
    return 0;
}
