/* hold_waits - a thread with a heap allocates while another one holds it off.
 *
 * bound     2 threads: 1 hold; 1 allocation and 1 free by the other, which begins behind the hold
 * property  it gets its object after the holder has let go, and sees what the holder did
 */
#include "verify/clients/hold_client.h"

static struct heap *its;

static void *allocating(void *unused) {
    (void)unused;
    heap_enter(its);
    use_behind_hold(SIZE);
    heap_enter(&no_heap);
    heap_abandon(its);
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 1);
    its = heap_take_or_create();
    assert(its);
    hold_off(allocating, own);
    return 0;
}
