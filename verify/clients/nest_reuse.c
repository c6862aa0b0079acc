/* nest_reuse - a range is wanted by its slot's number while it is taken and the slot filled with another, or with it.
 *
 * bound     3 threads: take, place the second range, place what was taken again | take the first | take the second;
 *           1 slot, then the list
 * property  a thread that wants a range gets that one or none, each has one holder at a time, and none is lost
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, FIRST = 9, SECOND = 10 };

static struct nest nest;
static unsigned kept[SECOND + 1];

static void place(granule_id range) {
    leaf_set(range, leaf_free(0));
    if (!nest_place(&nest, CLASS, range)) kept[range]++;
}

static void *moving(void *unused) {
    (void)unused;
    granule_id range = nest_take(&nest, CLASS);
    if (range) hold(range);
    hold(SECOND);
    place(SECOND);
    if (range) place(range);
    return NULL;
}

static void *taker(void *wanted) {
    granule_id range = (granule_id)(uintptr_t)wanted;
    if (leaf_same(leaf_get(range), leaf_none()) || !nest_take_this(&nest, CLASS, range, leaf_free(0))) return NULL;
    hold(range);
    kept[range]++;
    return NULL;
}

int main(void) {
    records_start();
    place(FIRST);
    pthread_t a = start(moving, NULL), b = start(taker, (void *)FIRST), c = start(taker, (void *)SECOND);
    finish(a);
    finish(b);
    finish(c);
    for (granule_id range; nest_next_class(&nest, 0) == CLASS && (range = nest_take(&nest, CLASS));) kept[range]++;
    assert(kept[FIRST] == 1 && kept[SECOND] == 1);
    return 0;
}
