/* heap_stack - the abandoned heaps: two threads take two heaps each and abandon them in another order than they lay in.
 * So a thread may meet a stack whose first heap is the same again, but not the one below it.
 *
 * bound     2 threads: 2 takes and 2 abandonments each; 2 heaps, and new ones where there is none
 * property  no heap has two holders (its plain words would race), and none is lost
 */
#include "verify/clients/frontend_client.h"

static void use(struct heap *heap) {
    assert(heap);
    heap->maintenance_ticks++;
}

static void *taking_two(void *unused) {
    (void)unused;
    struct heap *first = heap_take_or_create(), *second = heap_take_or_create();
    use(first);
    use(second);
    heap_abandon(first);
    use(second);
    heap_abandon(second);
    return NULL;
}

int main(void) {
    start_allocator();
    struct heap *a = heap_take_or_create(), *b = heap_take_or_create();
    heap_abandon(a);
    heap_abandon(b);
    pthread_t other = start(taking_two, NULL);
    a = heap_take_or_create();
    use(a);
    b = heap_take_or_create();
    use(b);
    finish(other);
    heap_abandon(b);
    heap_abandon(a);
    expect_heaps_rest();
    return 0;
}
