/* full_slab_refill_both - a full slab becomes current in place of another one while others free into both.
 *
 * bound     3 threads: 1 free and 3 allocations by the owner; 2 frees by others; 2 objects a slab
 * property  no object is lost or given out twice, and no slab is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *objects[4];

static void *freeing(void *number) {
    give(objects[(size_t)number], SIZE, (size_t)number);
    return NULL;
}

int main(void) {
    start_allocator();
    for (size_t i = 0; i < 4; i++) objects[i] = get(SIZE, i);
    pthread_t a = start(freeing, (void *)2), b = start(freeing, (void *)1);
    give(objects[0], SIZE, 0);
    uint64_t *later[3];
    for (size_t i = 0; i < 3; i++) later[i] = get(SIZE, 10 + i);
    finish(a);
    finish(b);
    give(objects[3], SIZE, 3);
    for (size_t i = 0; i < 3; i++) give(later[i], SIZE, 10 + i);
    expect_nothing_left();
    return 0;
}
