/* nest_list_pop - the list's only range is taken as any, as this one, and placed again, now in a slot.
 *
 * bound     3 threads: take, place again | take this | take; 1 range, in the list; 1 slot
 * property  the range has one holder at a time, sees what the last one wrote, and is not lost
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, RANGE = 9, IN_SLOT = 8 };

static struct nest nest;
static bool kept;

static void *taker_of_given(void *unused) {
    (void)unused;
    if (!nest_take_this(&nest, CLASS, RANGE, leaf_free(0))) return NULL;
    hold(RANGE);
    kept = true;
    return NULL;
}

static void *taker(void *again) {
    granule_id range = nest_take(&nest, CLASS);
    if (range == 0) return NULL;
    assert(range == RANGE);
    hold(RANGE);
    leaf_set(RANGE, leaf_free(0));
    if (!again || !nest_place(&nest, CLASS, RANGE)) kept = true;
    return NULL;
}

int main(void) {
    records_start();
    leaf_set(IN_SLOT, leaf_free(0));
    leaf_set(RANGE, leaf_free(0));
    nest_place(&nest, CLASS, IN_SLOT);
    nest_place(&nest, CLASS, RANGE);
    granule_id in_slot = nest_take(&nest, CLASS);
    assert(in_slot == IN_SLOT);
    pthread_t a = start(taker, &nest), b = start(taker_of_given, NULL), c = start(taker, NULL);
    finish(a);
    finish(b);
    finish(c);
    bool left = nest_next_class(&nest, 0) == CLASS && nest_take(&nest, CLASS) == RANGE;
    assert(left + kept == 1);
    return 0;
}
