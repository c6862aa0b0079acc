/* hold_first - a thread without a heap takes one that an ended thread has left, while another thread holds it off.
 *
 * bound     2 threads: 1 hold; 1 allocation of the midend and 1 free by the other, which begins behind the hold
 * property  it gets its object after the holder has let go, and sees what the holder did
 */
#include <sched.h>

#include "frontend/hold.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 48, MID_SIZE = 200 };

static _Atomic(bool) held;
static uint64_t done;

static void *allocating(void *unused) {
    (void)unused;
    while (!atomic_load_explicit(&held, memory_order_acquire)) sched_yield();
    uint64_t *object = get(MID_SIZE, 2);
    assert(done == 1);
    give(object, MID_SIZE, 2);
    model_thread_exit();
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 1);
    struct heap *left = heap_take_or_create();
    assert(left);
    heap_abandon(left);
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
