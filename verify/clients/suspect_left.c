/* suspect_left - an object whose first word is an old link is freed after its slab's thread has ended.
 *
 * bound     2 threads, one after the other: 3 allocations, 1 free, its end; 1 suspect
 * property  the free asks for a round, which is the only one to settle it; then no slab is lost
 * few       the suspect comes when the other thread has ended
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *suspect, *one;

static void *leaving(void *unused) {
    one = get(SIZE, 0);
    uint64_t *two = get(SIZE, 1); /* a full slab */
    jw_free(two);
    uint64_t link = *two;
    suspect = jw_malloc(SIZE);
    assert(suspect == two);
    *suspect = link;
    model_thread_exit();
    return unused;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 2); /* so that main takes no other heap */
    finish(start(leaving, NULL));
    reclaimer_take_request(); /* of that end */
    jw_free(suspect);
    assert(reclaimer_is_asked());
    give(one, SIZE, 0);
    give(own, SIZE, 2);
    expect_nothing_left();
    return 0;
}
