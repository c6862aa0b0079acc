/* slab_key_gone - a slab goes back while its root stays; a slab of the midend is made where it was, and its objects are
 * freed by another thread.
 *
 * bound     2 threads, one after the other: 1 small object and a purge; mid objects over all of the root, 1 free each
 * property  an object of the midend is freed as one, whatever its granule was before
 * few       one thread after the other: this is about what a slab leaves behind
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112, OF_MIDEND = 128, MOST = 20 };

static uint64_t *others[MOST];

static void *freeing(void *count) {
    for (size_t i = (size_t)count; i > 0; i--) give(others[i - 1], OF_MIDEND, i);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    others[0] = get(OF_MIDEND, 1); /* the root stays */
    uint64_t *small = get(SIZE, 1);
    give(small, SIZE, 1);
    model_thread_exit();
    thrift_purge();
    assert(slab_has_key(slab_of(small), 0));
    size_t count = 1;
    for (bool covered = false; !covered; count++) {
        assert(count < MOST);
        others[count] = get(OF_MIDEND, count + 1);
        covered = granule_of(others[count]) == granule_of(small);
    }
    finish(start(freeing, (void *)count));
    expect_nothing_left();
    return 0;
}
