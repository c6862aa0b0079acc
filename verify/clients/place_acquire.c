/* place_acquire - a range is freed while its free neighbour is taken by size: the thread that gets only one half
 * gives it back (acquire by size: Nest, then Knit; acquire a sibling: Knit, then Nest).
 *
 * bound     2 threads, 1 free and 1 acquisition; 1 try
 * property  a thread finds nothing only if the other joined all; nothing is lost, no granule is given out twice
 * defines   -DJW_RANGE_TRIES=1
 */
#include "verify/clients/ranges.h"

static granule_id freed, got;

static void *freeing(void *unused) {
    (void)unused;
    place(freed, MAPPED);
    return NULL;
}

static void *acquiring(void *unused) {
    (void)unused;
    got = own(range_acquire(FOR_SMALL_SLABS, MAPPED, 4));
    return NULL;
}

int main(void) {
    begin();
    freed = fetch(4);
    place(fetch(4), MAPPED);
    pthread_t a = start(freeing, NULL), b = start(acquiring, NULL);
    finish(a);
    finish(b);
    range_place_deferred();
    uint32_t weight = got ? knit_weight(got) : 0;
    assert(free_granules(MAPPED) == ROOT_GRANULES - weight);
    if (got) place(got, MAPPED);
    end();
    return 0;
}
