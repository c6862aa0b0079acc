/* place_left - Knit refuses to take a range back, since its neighbour has become free. The range is no more in its Nest
 * either. So it is left to the thread that took it from there (LEFT).
 *
 * bound     2 threads: one frees, the other takes that range from the Nest, frees its neighbour, and then asks Knit
 * property  nothing is lost; the thread that took a range from the Nest gets it, or finds it where it was put back
 * defines   -DJW_RANGE_TRIES=1 -DJW_NEST_SLOTS=1
 */
#include "verify/clients/ranges.h"

enum { CLASS_OF_4 = 3 };

static granule_id left, right, got;

static void *freeing(void *unused) {
    (void)unused;
    place(left, MAPPED);
    return NULL;
}

/* range_acquire_from, with a third thread's free of the neighbour in the middle */
static void *taking(void *unused) {
    (void)unused;
    granule_id range = nest_take(&ownership.nests[0], CLASS_OF_4);
    place(right, MAPPED);
    if (range == 0) return NULL;
    if (knit_acquire(range) != IN_USE) {
        got = own(range);
    } else {
        bool placed = nest_place(&ownership.nests[0], CLASS_OF_4, range);
        assert(placed);
    }
    return NULL;
}

int main(void) {
    begin();
    left = fetch(4);
    right = fetch(4);
    pthread_t a = start(freeing, NULL), b = start(taking, NULL);
    finish(a);
    finish(b);
    if (got) {
        atomic_fetch_sub_explicit(&ownership.cached[0], 4, memory_order_relaxed);
        place(got, MAPPED);
    }
    end();
    return 0;
}
