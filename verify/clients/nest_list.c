/* nest_list - the list under its try-lock: a range is placed, another is taken from the middle, the first is taken.
 *
 * bound     3 threads, 1 operation each; the slot is full, 2 ranges are in the list before
 * property  each range has one holder at a time and none is lost; a thread that finds the lock busy goes on without
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, IN_SLOT = 8, DEEP = 9, FIRST = 10, NEW = 11 };

static struct nest nest;

static void *placer(void *unused) {
    (void)unused;
    hold(NEW);
    leaf_set(NEW, leaf_free(0));
    if (nest_place(&nest, CLASS, NEW)) return NULL;
    hold(NEW); /* as if it had been taken out again */
    return NULL;
}

static void *taker_of_given(void *range) {
    granule_id wanted = (granule_id)(uintptr_t)range;
    if (nest_take_this(&nest, CLASS, wanted, leaf_free(0))) hold(wanted);
    return NULL;
}

int main(void) {
    records_start();
    for (granule_id range = IN_SLOT; range < NEW; range++) {
        leaf_set(range, leaf_free(0));
        bool placed = nest_place(&nest, CLASS, range);
        assert(placed);
    }
    pthread_t a = start(placer, NULL), b = start(taker_of_given, (void *)DEEP),
              c = start(taker_of_given, (void *)FIRST);
    finish(a);
    finish(b);
    finish(c);
    for (granule_id range; nest_next_class(&nest, 0) == CLASS && (range = nest_take(&nest, CLASS));) hold(range);
    for (granule_id range = IN_SLOT; range < NEW; range++) assert(held[range] == 1);
    assert(held[NEW] == 2);
    return 0;
}
