/* whole_range_cache - a large object is allocated and freed through the whole allocator; its range is cached.
 *
 * bound     2 threads, one after the other: 2 allocations and 2 frees each; 1 purge
 * property  the range is the next object's; the thread's end or a purge gives it back
 * few       one thread after the other: the same beside a round is in range_cache_round and range_cache_purge
 * defines   -DJW_RANGE_CACHE_WAYS=1
 */
#include "verify/clients/whole_large_twice.h"

static void *ending(void *unused) {
    (void)unused;
    struct heap *heap;
    use_twice();
    heap = thread_heap();
    model_thread_exit();
    assert(range_cache_granules(&heap->range_cache) == 0);
    return NULL;
}

static void *sleeping(void *heap) {
    use_twice();
    *(struct heap **)heap = thread_heap();
    return NULL;
}

int main(void) {
    begin();
    struct heap *heap = NULL;
    pthread_t a = start(ending, NULL);
    finish(a);
    a = start(sleeping, &heap);
    finish(a);
    thrift_purge();
    assert(range_cache_granules(&heap->range_cache) == 0);
    end(SIZE, 1);
    return 0;
}
