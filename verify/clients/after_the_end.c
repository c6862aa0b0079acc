/* after_the_end - a thread that has ended allocates and frees once more, as other destructors of it may, while another
 * thread takes a heap and ends.
 *
 * bound     2 threads: 1 allocation and 1 free after the thread's end; 1 allocation, 1 free and the thread's end
 * property  a heap is in one thread's hands at a time; neither it, nor an object, nor a slab is lost
 */
#include "verify/clients/frontend_client.h"

enum { SIZE = 112 };

static uint64_t *kept;

static void *ending(void *unused) {
    (void)unused;
    give(get(SIZE, 10), SIZE, 10);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    kept = get(SIZE, 1);
    model_thread_exit();
    pthread_t a = start(ending, NULL);
    give(get(SIZE, 2), SIZE, 2);
    finish(a);
    give(kept, SIZE, 1);
    expect_heaps_rest();
    expect_nothing_left();
    return 0;
}
