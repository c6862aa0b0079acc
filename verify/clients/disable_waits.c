/* disable_waits - a thread with a heap allocates while another one disables it.
 *
 * bound     2 threads: 1 disables; 1 allocation and 1 free by the other, which begins behind it
 * property  it gets its object after the disabler has enabled the others, and sees what the disabler did
 */
#include "verify/clients/disable_client.h"

static void *allocating(void *unused) {
    (void)unused;
    heap_enter(its);
    use_behind_disable(SIZE);
    heap_enter(&no_heap);
    heap_abandon(its);
    return NULL;
}

int main(void) {
    disable_and_run(allocating, make_its());
    return 0;
}
