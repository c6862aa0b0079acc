/* nest_places - two threads place ranges where there is one free slot; the list takes the other, or is busy.
 *
 * bound     2 threads, 2 places each; 1 slot
 * property  each range is found once in the end, or its place was refused
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1 };

static struct nest nest;

static void *placer(void *first) {
    granule_id range = (granule_id)(uintptr_t)first;
    for (granule_id end = range + 2; range < end; range++) {
        leaf_set(range, leaf_free(0));
        if (!nest_place(&nest, CLASS, range)) hold(range);
    }
    return NULL;
}

int main(void) {
    records_start();
    pthread_t a = start(placer, (void *)8), b = start(placer, (void *)10);
    finish(a);
    finish(b);
    for (granule_id range; nest_next_class(&nest, 0) == CLASS && (range = nest_take(&nest, CLASS));) hold(range);
    for (granule_id range = 8; range < 12; range++) assert(held[range] == 1);
    return 0;
}
