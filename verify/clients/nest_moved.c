/* nest_moved - a range is wanted by the words that it had in one list while it moves to another nest's list.
 *
 * bound     2 threads: take this, place it and a second range in another nest | take this; both slots full
 * property  the range has one holder at a time, is found once in the end, and both lists stay whole
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { RANGE = 10, SECOND = 11 };

static struct nest nest[2]; /* of which one stands in the leaf word; the class is the same number */
static bool kept, busy;

static struct leaf_word leaf_in(unsigned which) {
    return leaf_free(which);
}

static void place(unsigned which, granule_id range) {
    leaf_set(range, leaf_in(which));
    bool placed = nest_place(&nest[which], which, range);
    assert(placed);
}

static void *mover(void *unused) {
    (void)unused;
    if (nest_take_this(&nest[0], 0, RANGE, leaf_in(0))) {
        hold(RANGE);
        place(1, RANGE);
    } else {
        busy = true;
    }
    place(1, SECOND);
    return NULL;
}

static void *taker(void *unused) {
    (void)unused;
    if (nest_take_this(&nest[0], 0, RANGE, leaf_in(0))) hold(RANGE), kept = true;
    return NULL;
}

int main(void) {
    records_start();
    place(0, 8);
    place(0, RANGE);
    place(1, 9);
    pthread_t a = start(mover, NULL), b = start(taker, NULL);
    finish(a);
    finish(b);
    for (unsigned which = 0; which < 2; which++)
        for (granule_id range; (range = nest_take(&nest[which], which));) held[range] += 10;
    assert(held[8] == 10 && held[9] == 10 && held[SECOND] == 10 && held[RANGE] == (kept ? 1 : 11 - busy));
    return 0;
}
