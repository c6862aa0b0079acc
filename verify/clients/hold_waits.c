/* hold_waits - a thread with a heap allocates while another one holds it off.
 *
 * bound     2 threads: 1 hold; 1 allocation and 1 free by the other, which begins behind the hold
 * property  it gets its object after the holder has let go, and sees what the holder did
 */
#include <sched.h>

#include "frontend/hold.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 48 };

static struct heap *its;
static _Atomic(bool) held;
static uint64_t done; /* written by the holder, while it is that */

static void *allocating(void *unused) {
    (void)unused;
    heap_enter(its);
    while (!atomic_load_explicit(&held, memory_order_acquire)) sched_yield();
    uint64_t *object = get(SIZE, 2);
    assert(done == 1);
    give(object, SIZE, 2);
    heap_enter(&no_heap);
    heap_abandon(its);
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 1);
    its = heap_take_or_create();
    assert(its);
    pthread_t other = start(allocating, NULL);
    hold_others();
    atomic_store_explicit(&held, true, memory_order_release);
    done = 1;
    hold_end();
    finish(other);
    give(own, SIZE, 1);
    expect_nothing_left();
    return 0;
}
