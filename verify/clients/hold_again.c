/* hold_again - two threads hold off all others at once.
 *
 * bound     2 threads: 1 hold each
 * property  one is the holder at a time, and sees what the other has done
 */
#include "frontend/hold.h"
#include "verify/clients/frontend_client.h"

static struct heap *its;
static uint64_t done;

static void hold(void) {
    hold_others();
    done++;
    hold_end();
}

static void *holding(void *unused) {
    (void)unused;
    heap_enter(its);
    hold();
    heap_enter(&no_heap);
    heap_abandon(its);
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(48, 1);
    its = heap_take_or_create();
    assert(its);
    pthread_t other = start(holding, NULL);
    hold();
    finish(other);
    assert(done == 2);
    give(own, 48, 1);
    expect_nothing_left();
    return 0;
}
