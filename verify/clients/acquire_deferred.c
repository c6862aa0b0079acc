/* acquire_deferred - a thread has a range from its Nest, and Knit refuses it, since a neighbour is looking at it. It
 * finds no place in the Nest again. So it is deferred as "not acquired", and placed when Knit's half is free.
 *
 * bound     2 threads: 1 free; 1 acquisition; 1 slot, the lists are locked as around a fork; 1 try
 * property  nothing is lost, no granule is given out twice
 * defines   -DJW_RANGE_TRIES=1 -DJW_NEST_SLOTS=1
 */
#include "verify/clients/ranges.h"

enum { CLASS_OF_4 = 3 };

static granule_id freed, got;

static void *freeing(void *unused) {
    (void)unused;
    place(freed, MAPPED);
    return NULL;
}

static void *acquiring(void *unused) {
    (void)unused;
    got = own(range_acquire_from(0, CLASS_OF_4));
    return NULL;
}

int main(void) {
    begin();
    freed = fetch(4);
    place(fetch(4), MAPPED);
    nest_lock_all(&ownership.nests[0]);
    pthread_t a = start(freeing, NULL), b = start(acquiring, NULL);
    finish(a);
    finish(b);
    nest_unlock_all(&ownership.nests[0], ~(uint64_t)0);
    if (got) place(got, MAPPED);
    end();
    return 0;
}
