/* range_cache_asks - a thread caches a range and sleeps; there is no reclamation thread yet.
 *
 * bound     1 thread: 1 free; the reclamation thread that this has started, until it ends
 * property  the thread is started, and ends only when the range has gone back to the OS
 * defines   -DJW_NEST_SLOTS=1 -DJW_RANGE_TRIES=1 -DJW_RANGE_CACHE_WAYS=1
 */
#include "verify/clients/reclamation.h"

enum { SIZE = 2 * GRANULE_SIZE };

static struct range_cache range_cache;

static wide_bool on_round(wide_bool now) {
    if (now) return false; /* a purge */
    bool left = range_cache_drain(&range_cache, false);
    if (left) thrift_wake(); /* as the frontend's round */
    return left;
}

int main(void) {
    bool zeroed;
    begin();
    begin_reclamation();
    void *object = large_allocate(SIZE, 1, &zeroed);
    thrift_on_round(ROUND_SLABS, on_round);
    run_started(); /* the new root has started one */
    range_cache_enter(&range_cache);
    granule_id range = large_try_begin_free(object);
    large_cache(&range_cache, range);
    range_cache_enter(NULL);
    run_started();
    assert(range_cache_granules(&range_cache) == 0 && free_granules(MAPPED) == 0);
    end();
    return 0;
}
