/* nest_stale_slot - a range is wanted by a link word that may still be that of its last life, on the deferred list.
 *
 * bound     2 threads: place in class 2 | take this of class 0; 1 slot each
 * property  what in the link is no slot's number takes nothing: the range stays in class 2
 * few       the taking thread looks at one word that the other changes, the link: before or after that
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { RANGE = 12 };

static struct nest nest;

static void *placer(void *unused) {
    (void)unused;
    hold(RANGE);
    bool placed = nest_place(&nest, 2, RANGE);
    assert(placed);
    return NULL;
}

static void *taker(void *unused) {
    (void)unused;
    bool taken = nest_take_this(&nest, 0, RANGE, leaf_free(0));
    assert(!taken);
    return NULL;
}

int main(void) {
    records_start();
    leaf_set(RANGE, leaf_free(0));
    range_set_next(RANGE, ID_MASK); /* the next deferred range; so many words beyond the slots no thread may look */
    pthread_t a = start(placer, NULL), b = start(taker, NULL);
    finish(a);
    finish(b);
    granule_id left = nest_take(&nest, 2);
    assert(left == RANGE && held[RANGE] == 1);
    return 0;
}
