/* range_cache_purge - a thread caches a range and pops it again, while another one wants all memory back.
 *
 * bound     2 threads: 1 free, 1 allocation, 1 free of a large object | 1 purge
 * property  the object is its thread's alone, and its contents are gone when the purge has it; in the end the range is
 *           free once, and the thread's count of cached granules is right
 * defines   -DJW_RANGE_CACHE_WAYS=1 -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1
 */
#include "verify/clients/range_cache_owner.h"

static void *purging(void *unused) {
    (void)unused;
    range_cache_drain(&range_cache, true);
    return NULL;
}

int main(void) {
    own_beside(purging);
    return 0;
}
