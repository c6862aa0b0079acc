/* rejoin_left - unmapped neighbours that stayed apart after a rollback (LEFT), as place_left makes them, meet in the
 * next round.
 *
 * bound     1 thread, 1 round
 * property  the neighbours join, and their root goes back
 */
#include "verify/clients/ranges.h"

enum { CLASS_OF_4 = 3 };

int main(void) {
    begin();
    granule_id left = fetch(4), right = fetch(4);
    place(left, UNMAPPED);
    leaf_set(right, leaf_free(UNMAPPED_NEST));
    bool placed = nest_place(&ownership.nests[UNMAPPED_NEST], CLASS_OF_4, right);
    assert(placed);
    knit_relinquish(right);
    atomic_fetch_add_explicit(&ownership.cached[1], 4, memory_order_relaxed);
    atomic_fetch_add_explicit(&ownership.rollbacks, 1, memory_order_relaxed);
    thrift_purge();
    assert(root_count() == 0);
    end();
    return 0;
}
