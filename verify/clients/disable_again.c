/* disable_again - two threads disable all others at once.
 *
 * bound     2 threads: each disables the others, one of them twice before it enables them
 * property  one is the disabler at a time, and sees what the other has done
 */
#include "frontend/disable.h"
#include "verify/clients/frontend_client.h"

static struct heap *its;
static uint64_t done;

static void disable(bool twice) {
    disable_others();
    done++;
    if (twice) disable_others(); /* the disabler does not wait for itself */
    disable_end();
}

static void *disabling(void *unused) {
    (void)unused;
    heap_enter(its);
    disable(false);
    heap_enter(&no_heap);
    heap_abandon(its);
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(48, 1);
    its = heap_take_or_create();
    assert(its);
    pthread_t other = start(disabling, NULL);
    disable(true);
    finish(other);
    assert(done == 2);
    give(own, 48, 1);
    expect_nothing_left();
    return 0;
}
