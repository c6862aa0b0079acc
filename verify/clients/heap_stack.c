/* heap_stack - the resting heaps: two threads take and retire heaps at once, one of them two and the lower one for
 * longer, so that the other meets a stack whose first heap is the same again, but not the one below it.
 *
 * bound     2 threads: 1 take; 2 takes, 1 retirement and another take; 2 heaps
 * property  no heap has two holders (its plain words would race), and none is lost
 */
#include "verify/clients/frontend_client.h"

static void use(struct heap *heap) {
    assert(heap);
    heap->refills++;
}

static void *taking_two(void *unused) {
    (void)unused;
    struct heap *first = heap_take(), *second = heap_take();
    use(first);
    use(second);
    heap_retire(first);
    use(second);
    heap_retire(second);
    return NULL;
}

int main(void) {
    start_allocator();
    struct heap *a = heap_take(), *b = heap_take();
    heap_retire(a);
    heap_retire(b);
    pthread_t other = start(taking_two, NULL);
    a = heap_take();
    use(a);
    b = heap_take();
    use(b);
    finish(other);
    heap_retire(b);
    heap_retire(a);
    uint32_t count = heap_count();
    assert(heap_resting_count() == count);
    for (uint32_t i = 0; i < count; i++) use(heap_take());
    assert(heap_count() == count);
    return 0;
}
