/* whole_large_twice.h - a thread has a large object twice, from one range, which stays in its cache. For clients. */
#ifndef JW_WHOLE_LARGE_TWICE_H
#define JW_WHOLE_LARGE_TWICE_H

#include "frontend/thread_heap.h"
#include "verify/clients/whole.h"

enum { SIZE = 4 * GRANULE_SIZE };

static inline void use_twice(void) {
    void *first = filled(jw_malloc(SIZE), SIZE, 1);
    release(first, SIZE, 1);
    void *second = filled(jw_malloc(SIZE), SIZE, 2);
    assert(second == first);
    release(second, SIZE, 2);
    assert(free_granules(MAPPED) == 0 && range_cache_granules(&thread_heap()->range_cache) == 4);
}

#endif
