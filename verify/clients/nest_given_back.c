/* nest_given_back - a thread that wants a range by its slot's number takes another one and gives it
 * back: others find that.
 *
 * bound     3 threads: take, place the second range | take the first | take; 1 slot
 * property  each range has one holder at a time, and none is lost
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, FIRST = 9, SECOND = 10 };

static struct nest nest;

static void place(granule_id range) {
    leaf_set(range, leaf_free(0));
    bool placed = nest_place(&nest, CLASS, range);
    assert(placed);
}

static void *taker(void *unused) {
    (void)unused;
    granule_id range = nest_take(&nest, CLASS);
    if (range) hold(range);
    return NULL;
}

static void *replacing(void *unused) {
    (void)unused;
    taker(NULL);
    place(SECOND);
    return NULL;
}

static void *taker_of_given(void *unused) {
    (void)unused;
    if (nest_take_this(&nest, CLASS, FIRST, leaf_free(0))) hold(FIRST);
    return NULL;
}

int main(void) {
    records_start();
    place(FIRST);
    pthread_t a = start(replacing, NULL), b = start(taker_of_given, NULL), c = start(taker, NULL);
    finish(a);
    finish(b);
    finish(c);
    while (nest_next_class(&nest, 0) == CLASS) taker(NULL);
    assert(held[FIRST] == 1 && held[SECOND] == 1);
    return 0;
}
