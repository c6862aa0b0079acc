/* progress_nest - two threads place and take ranges of a Nest. Each may stop for good at any of its steps, also while
 * it has the list's lock. A third thread places or takes beside them.
 *
 * bound     3 threads: 1 place | 1 take of one of two given ranges, or of any | 1 take of any or of a given range, or 1
 *           place; 1 slot, 1 range in it and 1 in the list before
 * property  no operation waits for another thread: each ends, whatever step the others have stopped at; each range has
 *           one holder
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, IN_SLOT = 8, IN_LIST = 9, SECOND = 10, THIRD = 11 };
enum { TAKE_FROM_LIST, TAKE_FROM_SLOT, TAKE_ANY, PLACE };

static struct nest nest;

static bool place(granule_id range) {
    hold(range);
    leaf_set(range, leaf_free(0));
    return nest_place(&nest, CLASS, range);
}

static void take(unsigned which) {
    if (which == TAKE_ANY) {
        granule_id range = nest_take(&nest, CLASS);
        if (range) hold(range);
    } else {
        granule_id range = which == TAKE_FROM_LIST ? IN_LIST : IN_SLOT;
        if (nest_take_this(&nest, CLASS, range, leaf_free(0))) hold(range);
    }
}

static void *placing(void *unused) {
    (void)unused;
    checker_may_stop(true);
    place(SECOND);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    checker_may_stop(true);
    take(checker_choose(3));
    return NULL;
}

int main(void) {
    records_start();
    assert(place(IN_SLOT));
    assert(place(IN_LIST));
    pthread_t a = start(placing, NULL), b = start(taking, NULL);
    unsigned what = checker_choose(4);
    if (what == PLACE) place(THIRD);
    else take(what);
    finish(a);
    finish(b);
    return 0;
}
