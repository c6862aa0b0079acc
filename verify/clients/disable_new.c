/* disable_new - a thread disables another one that makes its heap at that moment.
 *
 * bound     2 threads: 1 disables; 1 new heap
 * property  the thread goes on before that or after its end, or finds each size of its map DISABLED
 */
#include "frontend/disable.h"
#include "verify/clients/frontend_client.h"

enum { SIZE = 48 };

static struct heap *its;
static _Atomic(bool) held;

static void *making(void *unused) {
    (void)unused;
    its = heap_take_or_create();
    assert(its && its->number > 1);
    if (!atomic_load_explicit(&held, memory_order_acquire)) return NULL;
    for (unsigned size = 0; size <= FRONTEND_MAX; size++)
        assert(__atomic_load_n(&its->size_map[size], __ATOMIC_RELAXED) == DISABLED * FREE_TARGET_WORDS);
    return NULL;
}

int main(void) {
    start_allocator();
    uint64_t *own = get(SIZE, 1);
    pthread_t maker = start(making, NULL);
    disable_others();
    atomic_store_explicit(&held, true, memory_order_release);
    atomic_store_explicit(&held, false, memory_order_relaxed);
    disable_end();
    finish(maker);
    heap_abandon(its);
    give(own, SIZE, 1);
    expect_nothing_left();
    return 0;
}
