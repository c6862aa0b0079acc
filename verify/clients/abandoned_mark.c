/* abandoned_mark - a heap is left by its thread while another one takes a heap. A free into a heap that is marked as
 * abandoned asks for a round.
 *
 * bound     2 threads: 1 heap abandoned, 1 taken
 * property  the mark stands while no thread has the heap, and only then
 */
#include "verify/clients/frontend_client.h"

static struct heap *left;

static bool is_marked(const struct heap *heap) {
    return atomic_load_explicit(&heap->abandoned, memory_order_relaxed);
}

static void *leaving(void *unused) {
    heap_abandon(left);
    return unused;
}

int main(void) {
    start_allocator();
    left = heap_take_or_create();
    struct heap *other = heap_take_or_create();
    heap_abandon(other);
    pthread_t thread = start(leaving, NULL);
    struct heap *taken = heap_take_or_create();
    finish(thread);
    assert(!is_marked(taken) && is_marked(taken == left ? other : left));
    heap_abandon(taken);
    assert(is_marked(left) && is_marked(other));
    expect_heaps_rest();
    return 0;
}
