/* refused_root - two threads free the halves of a root, and the OS may refuse to unmap it; later rounds give it back.
 *
 * bound     2 threads: 1 range placed each, without memory; 1 unmapping that may be refused
 * property  the counts are exact; a root that the OS has refused goes in the next round
 */
#include "verify/clients/ranges.h"

static void *freeing(void *range) {
    place((granule_id)(uintptr_t)range, UNMAPPED);
    return NULL;
}

int main(void) {
    begin();
    granule_id one = fetch(4), other = fetch(4);
    atomic_store_explicit(&model_faults_left, 1, memory_order_relaxed);
    pthread_t a = start(freeing, (void *)(uintptr_t)one);
    place(other, UNMAPPED);
    finish(a);
    expect_exact_counts();
    if (root_count() > 0) assert(page_map_owns(granule_address(one)));
    atomic_store_explicit(&model_faults_left, 0, memory_order_relaxed);
    for (int rounds = 0; rounds < 2; rounds++) thrift_purge();
    assert(model_reserved_roots() == 0 && root_count() == 0);
    end();
    return 0;
}
