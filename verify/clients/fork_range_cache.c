/* fork_range_cache - in the child of a fork, cached ranges of the heaps that it inherits are drained, and no thread of
 * the child gets them before.
 *
 * bound     before the fork 2 heaps with a cached range each: the forking thread's, and one of a thread that is gone;
 *           in the child 2 threads: 1 allocation and free of a large object of the same class | 1 drain of one heap
 * property  an inherited range is drained once, and given to no thread before that; a purge leaves nothing
 * defines   -DJW_RANGE_CACHE_WAYS=1
 */
#include "backend/backend.h"
#include "frontend/heap_fork.h"
#include "frontend/thread_heap.h"
#include "midend/midend.h"
#include "verify/clients/whole.h"

enum { SIZE = 4 * GRANULE_SIZE };

static void *exchange(void) {
    void *object = filled(jw_malloc(SIZE), SIZE, 1);
    release(object, SIZE, 1);
    assert(range_cache_granules(&thread_heap()->range_cache) == 4);
    return object;
}

static void *sleeping(void *heap) {
    exchange();
    *(struct heap **)heap = thread_heap();
    return NULL;
}

static void *draining(void *heap) {
    range_cache_drain(&((struct heap *)heap)->range_cache, true);
    return NULL;
}

static void fork_child(void) {
    heap_before_fork();
    backend_before_fork();
    midend_before_fork();
    midend_after_fork(true);
    backend_after_fork(true);
    heap_after_fork(true);
}

int main(void) {
    begin();
    struct heap *other = NULL;
    pthread_t a = start(sleeping, &other);
    finish(a);
    void *old = exchange();
    struct heap *mine = thread_heap();
    fork_child();
    assert(range_cache_granules(&mine->range_cache) == 4 && range_cache_granules(&other->range_cache) == 4);
    a = start(draining, other);
    void *young = exchange();
    assert(young != old && thread_heap() != mine && thread_heap() != other);
    finish(a);
    assert(range_cache_granules(&mine->range_cache) == 4 && range_cache_granules(&other->range_cache) == 0);
    thrift_purge();
    assert(range_cache_granules(&mine->range_cache) == 0 && range_cache_granules(&thread_heap()->range_cache) == 0);
    end(SIZE, 1);
    return 0;
}
