/* suspect_settled - another thread frees an object whose first word is an old link, while the owner refills.
 *
 * bound     2 threads: 1 suspect pushed, 1 refill of the owner beside it; 2 objects a slab
 * property  the object is freed once, the note too, and no slab is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *suspect;

static void *freeing(void *unused) {
    (void)unused;
    jw_free(suspect); /* the note makes a heap of this thread's own */
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *one = get(SIZE, 0), *two = get(SIZE, 1); /* a full slab */
    jw_free(two);
    uint64_t link = *two;
    suspect = jw_malloc(SIZE);
    assert(suspect == two);
    *suspect = link;
    pthread_t other = start(freeing, NULL);
    uint64_t *later = get(SIZE, 2);
    give(later, SIZE, 2);
    finish(other);
    give(one, SIZE, 0);
    expect_nothing_left();
    return 0;
}
