/* nest_list_same - two threads want the same range out of the middle of a list.
 *
 * bound     2 threads: take this, each; 1 slot, full; 2 ranges in the list before, the wanted one is not the first
 * property  at most one gets it, and the list stays whole
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, IN_SLOT = 8, WANTED = 9, FIRST = 10 };

static struct nest nest;

static void *taker(void *unused) {
    (void)unused;
    if (nest_take_this(&nest, CLASS, WANTED, leaf_free(0))) hold(WANTED);
    return NULL;
}

int main(void) {
    records_start();
    for (granule_id range = IN_SLOT; range <= FIRST; range++) {
        leaf_set(range, leaf_free(0));
        nest_place(&nest, CLASS, range);
    }
    pthread_t a = start(taker, NULL), b = start(taker, NULL);
    finish(a);
    finish(b);
    for (granule_id range; (range = nest_take(&nest, CLASS));) hold(range);
    assert(held[IN_SLOT] == 1 && held[WANTED] == 1 && held[FIRST] == 1);
    return 0;
}
