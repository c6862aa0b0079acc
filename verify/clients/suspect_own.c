/* suspect_own - the owner frees an object whose first word is an old link, and walks its lists, while another thread
 * frees to the same slab.
 *
 * bound     2 threads: 1 suspect and 2 allocations by the owner, 1 free by the other; 2 objects a slab
 * property  both objects are freed once, and no slab is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *one;

static void *freeing(void *unused) {
    (void)unused;
    give(one, SIZE, 0);
    return NULL;
}

int main(void) {
    start_allocator();
    one = get(SIZE, 0);
    uint64_t *two = get(SIZE, 1); /* a full slab */
    jw_free(two);
    uint64_t link = *two, *suspect = jw_malloc(SIZE);
    assert(suspect == two);
    *suspect = link;
    pthread_t other = start(freeing, NULL);
    jw_free(suspect);
    uint64_t *later = get(SIZE, 2), *more = get(SIZE, 3);
    give(later, SIZE, 2);
    give(more, SIZE, 3);
    finish(other);
    expect_nothing_left();
    return 0;
}
