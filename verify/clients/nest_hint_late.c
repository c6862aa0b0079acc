/* nest_hint_late - a thread that fills the first slot of a class may stop before its hint; others do not rely on it.
 *
 * bound     2 threads: place | place, take as long as there is a hint; 2 slots
 * property  the thread that has placed a range finds it, wherever the other one is
 * defines   -DJW_NEST_SLOTS=2
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

static void *placer(void *unused) {
    (void)unused;
    hold(FIRST);
    place(FIRST);
    return NULL;
}

static void *finder(void *unused) {
    (void)unused;
    place(SECOND);
    for (granule_id range; nest_next_class(&nest, 0) == CLASS && (range = nest_take(&nest, CLASS));) hold(range);
    assert(held[SECOND] == 1);
    return NULL;
}

int main(void) {
    records_start();
    pthread_t a = start(placer, NULL), b = start(finder, NULL);
    finish(a);
    finish(b);
    for (granule_id range; nest_next_class(&nest, 0) == CLASS && (range = nest_take(&nest, CLASS));) hold(range);
    assert(held[FIRST] == 2 && held[SECOND] == 1);
    return 0;
}
