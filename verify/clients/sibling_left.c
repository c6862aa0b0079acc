/* sibling_left - a sibling's Nest half is gone, and Knit does not take its half back either, since a neighbour on its
 * other side has become free: it is left to its taker (LEFT).
 *
 * bound     2 threads: one frees, the other takes the sibling from the Nest, frees the next one, and then asks Knit
 * property  nothing is lost; the thread that took the sibling from the Nest gets it, or finds it where it was put back
 * defines   -DJW_RANGE_TRIES=1 -DJW_NEST_SLOTS=1
 */
#include "verify/clients/ranges.h"

enum { CLASS_OF_2 = 1 };

static granule_id freed, sibling, next, got;

static void *freeing(void *unused) {
    (void)unused;
    place(freed, MAPPED);
    return NULL;
}

/* range_acquire_from, with a third thread's free of the next range in the middle */
static void *taking(void *unused) {
    (void)unused;
    granule_id range = nest_take(&ownership.nests[0], CLASS_OF_2);
    place(next, MAPPED);
    if (range != sibling) return NULL;
    if (knit_acquire(range) != IN_USE) {
        got = own(range);
    } else {
        bool placed = nest_place(&ownership.nests[0], CLASS_OF_2, range);
        assert(placed);
    }
    return NULL;
}

int main(void) {
    begin();
    freed = fetch(4);
    sibling = fetch(2);
    next = fetch(2);
    place(sibling, MAPPED);
    pthread_t a = start(freeing, NULL), b = start(taking, NULL);
    finish(a);
    finish(b);
    if (got) {
        atomic_fetch_sub_explicit(&ownership.cached[0], 2, memory_order_relaxed);
        place(got, MAPPED);
    }
    end();
    return 0;
}
