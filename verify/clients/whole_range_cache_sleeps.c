/* whole_range_cache_sleeps - a thread frees a large object and sleeps; its range is cached.
 *
 * bound     1 thread: 2 allocations and 2 frees; the reclamation thread that this has started, until it ends
 * property  the range goes back to the OS, by the rounds of the frontend
 * defines   -DJW_RANGE_CACHE_WAYS=1
 */
#include "config/options.h"
#include "verify/clients/whole_large_twice.h"

int main(void) {
    begin();
    model_starts_threads = true;
    model_waits_end = true;
    options.reclaim_start = 0;
    options.reclaim_thread = THREAD_TRUE;
    use_twice();
    struct heap *heap = thread_heap();
    void (*body)(void) = atomic_exchange_explicit(&model_thread_body, NULL, memory_order_acquire);
    assert(body);
    body();
    assert(range_cache_granules(&heap->range_cache) == 0 && model_reserved_roots() == 0);
    return 0;
}
