/* refused_pages - all cached memory is to go, and the OS may refuse pages and roots; then it takes all.
 *
 * bound     1 thread: 3 purges, the first, also for want of memory, with 3 calls that may be refused; 2 roots of 8
 *           granules in two ranges each
 * property  the counts are exact after each; nothing is lost: all goes when the OS takes it again
 */
#include "verify/clients/ranges.h"

int main(void) {
    granule_id ranges[4];
    begin();
    for (unsigned i = 0; i < 4; i++) ranges[i] = fetch(4);
    for (unsigned i = 0; i < 4; i++) place(ranges[i], i == 0 ? UNMAPPED : MAPPED);
    atomic_store_explicit(&model_faults_left, 3, memory_order_relaxed);
    if (checker_choose(2)) thrift_purge();
    else thrift_make_room(ROOT_SIZE);
    expect_exact_counts();
    atomic_store_explicit(&model_faults_left, 0, memory_order_relaxed);
    for (int rounds = 0; rounds < 2; rounds++) thrift_purge();
    assert(model_reserved_roots() == 0);
    end();
    return 0;
}
