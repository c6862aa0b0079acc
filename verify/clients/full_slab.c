/* full_slab - a full slab comes back: the owner marks it full and frees an object of it itself, while another thread
 * frees the other one.
 *
 * bound     2 threads: 1 free of the owner's object, 3 allocations and 1 free by the owner; 2 objects a slab
 * property  exactly one of them returns the slab; no object is lost or given out twice
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *remote;

static void *freeing(void *unused) {
    (void)unused;
    give(remote, SIZE, 1);
    return NULL;
}

int main(void) {
    start_allocator();
    remote = get(SIZE, 1);
    uint64_t *own = get(SIZE, 2), *later[3];
    pthread_t a = start(freeing, NULL);
    later[0] = get(SIZE, 10);
    give(own, SIZE, 2);
    later[1] = get(SIZE, 11);
    later[2] = get(SIZE, 12);
    finish(a);
    for (size_t i = 0; i < 3; i++) give(later[i], SIZE, 10 + i);
    expect_nothing_left();
    return 0;
}
