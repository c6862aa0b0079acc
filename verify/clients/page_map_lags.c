/* page_map_lags - tables that cover as many slots as the records may lag behind. Two threads need roots when no slot is
 * free: each asks for records first, also if the other one has stopped.
 *
 * bound     2 threads: 2 roots reserved; tables for 2 slots at first, for 4 in the end
 * property  in the end the records cover all roots, without a slab in them
 * defines   -DJW_FIRST_WINDOW_SHIFT=12 -DJW_WINDOW_SHIFT=14 -DJW_RECORDS_LAG_SHIFT=12 -DMODEL_ROOTS=8
 *           -DMODEL_REGION=32768
 */
#include "verify/clients/ranges.h"

static char *made[3];

static void *making(void *root) {
    size_t most = 1;
    *(char **)root = page_map_reserve(&most);
    return NULL;
}

int main(void) {
    begin();
    model_waits_end = true;
    making(&made[0]);
    pthread_t a = start(making, &made[1]), b = start(making, &made[2]);
    finish(a);
    finish(b);
    for (unsigned i = 0; i < 3; i++) {
        assert(made[i] && record_of(made[i]) == record_at(granule_of(made[i])));
        assert(page_map_give_back(made[i]));
    }
    assert(claimed_slots() == 0 && model_reserved_roots() == 0);
    return 0;
}
