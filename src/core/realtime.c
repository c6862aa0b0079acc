/* realtime.c - marks a thread as real-time, and lets it use each size once (realtime.h). */
#include "core/realtime.h"

#include <errno.h>

#include "backend/reserve.h"
#include "core/start.h"
#include "frontend/heap_collect.h"
#include "frontend/heap_lifecycle.h"
#include "frontend/thread_heap.h"
#include "jwmalloc.h"
#include "platform/tool.h"

int realtime_reserve(size_t size) {
#if HAS_RESERVE
    if (replaced_by_tool()) return ENOTSUP;
    jw_free(jw_malloc(1)); /* gives the thread a heap */
    struct heap *heap = thread_heap();
    if (heap == &no_heap) return ENOMEM;
    bool was = reserve_is_mine();
    /* in a fork's child, what is left of the parent's reserve would be copied at the first write: it goes back */
    if (!was) reserve_mark(false);
    reserve_mark(size > 0);
    if (size > 0 && !reserve_add(size)) {
        reserve_mark(was);
        return ENOMEM;
    }
    heap_enter(heap); /* with its range cache */
    if (size == 0) return 0;
    /* what the thread has cached may have pages that were never touched */
    heap_drain(heap);
    range_cache_close(&heap->range_cache);
    reserve_write(heap, sizeof *heap);
    /* the first use of each size: of the code, of the heap, of records */
    for (size = 1; size < ROOT_SIZE; size += size) jw_free(jw_malloc(size));
    return 0;
#else
    (void)size;
    return ENOTSUP;
#endif
}
