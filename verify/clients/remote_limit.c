/* remote_limit - at the hard limit a slab's owner wants to empty it. Another thread frees its last object, and a round
 * gives its page back. The owner leaves a slab without a page alone until the limit is gone.
 *
 * bound     3 threads: 1 round that gives all back; 1 free; 1 look by the owner; a slab of 3 objects, of which others
 *           have freed 1 and the owner 1
 * property  a page that was given back does not come back at the limit; no slab is lost, and no object is given out
 *           twice
 */
#include "backend/limits.h"
#include "frontend/heap_slabs.h"
#include "frontend/slab_cross.h"
#include "verify/clients/remote.h"

enum { SIZE = 80, SLAB = 3 };

int main(void) {
    begin(SIZE, SLAB + 1); /* a full slab, and a current one */
    struct slab *slab = slab_of(objects[0]);
    give(objects[0], SIZE, 0);
    finish(start_free(1));
    size_t given_back = thrift_given_back();
    atomic_store_explicit(&options.limit_hard, 1, memory_order_relaxed);
    pthread_t a = start_free(2), b = start(remote_round, ALL);
    heap_collect_if_empty(thread_heap(), slab);
    finish(a);
    finish(b);
    assert(slab_is_taken(slab) || thrift_given_back() == given_back);
    atomic_store_explicit(&options.limit_hard, 0, memory_order_relaxed);
    uint64_t *later[SLAB];
    for (size_t i = 0; i < SLAB; i++) later[i] = get(SIZE, 10 + i);
    for (size_t i = 0; i < SLAB; i++) give(later[i], SIZE, 10 + i);
    give(objects[SLAB], SIZE, SLAB);
    expect_nothing_left();
    return 0;
}
