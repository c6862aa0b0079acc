/* range_cache_round - a thread caches a range and pops it again, while rounds drain the cache.
 *
 * bound     2 threads: 1 free, 1 allocation, 1 free of a large object | 2 rounds
 * property  the object is its thread's alone, and what it holds is gone when a round has it; the range is free once in
 *           the end, and the thread's count of what is cached comes out right
 * defines   -DJW_RANGE_CACHE_WAYS=1 -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/range_cache_owner.h"

static void *draining(void *unused) {
    (void)unused;
    range_cache_drain(&range_cache, false);
    range_cache_drain(&range_cache, false);
    return NULL;
}

int main(void) {
    own_beside(draining);
    return 0;
}
