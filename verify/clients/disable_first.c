/* disable_first - a thread without a heap takes one that an ended thread has left, while another thread disables it.
 *
 * bound     2 threads: 1 disables; 1 allocation of the midend and 1 free by the other, which begins behind it
 * property  it gets its object after the disabler has enabled the others, and sees what the disabler did
 */
#include "verify/clients/disable_client.h"

enum { MID_SIZE = 200 };

static void *allocating(void *unused) {
    (void)unused;
    use_behind_disable(MID_SIZE);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 1);
    struct heap *left = heap_take_or_create();
    assert(left);
    heap_abandon(left);
    disable_and_run(allocating, own);
    return 0;
}
