/* full_slab_again - another thread returns a slab to its owner; it is full again at once, and others free all the rest:
 * the thread that pushes it next must know.
 *
 * bound     2 threads at a time: 1 free of the owner's object, then 2; 5 allocations by the owner; 2 objects a slab
 * property  the slab comes back by others' frees alone; no object is lost or given out twice
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *objects[2], *first;

static void *freeing(void *unused) {
    (void)unused;
    give(objects[0], SIZE, 0);
    return NULL;
}

static void *freeing_the_rest(void *unused) {
    (void)unused;
    give(objects[1], SIZE, 1);
    give(first, SIZE, 10);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < 2; i++) objects[i] = get(SIZE, i);
    pthread_t a = start(freeing, NULL);
    first = get(SIZE, 10); /* the freed one, where it has come already */
    uint64_t *later[3] = {get(SIZE, 11)};
    finish(a);
    later[1] = get(SIZE, 12);
    pthread_t b = start(freeing_the_rest, NULL);
    later[2] = get(SIZE, 13);
    finish(b);
    for (size_t i = 0; i < 3; i++) give(later[i], SIZE, 11 + i);
    expect_nothing_left();
    return 0;
}
