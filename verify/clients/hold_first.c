/* hold_first - a thread without a heap takes one that an ended thread has left, while another thread holds it off.
 *
 * bound     2 threads: 1 hold; 1 allocation of the midend and 1 free by the other, which begins behind the hold
 * property  it gets its object after the holder has let go, and sees what the holder did
 */
#include "verify/clients/hold_client.h"

enum { MID_SIZE = 200 };

static void *allocating(void *unused) {
    (void)unused;
    use_behind_hold(MID_SIZE);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 1);
    struct heap *left = heap_take_or_create();
    assert(left);
    heap_abandon(left);
    hold_off(allocating, own);
    return 0;
}
