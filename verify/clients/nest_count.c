/* nest_count - the statistics count a list while its first range moves to another class's list.
 *
 * bound     2 threads: count | take this, place it in the other class; 1 slot each, full; lists of 2 each before
 * property  the count is one that was true at some time, or the slot alone when the list is busy
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { FROM = 1, TO = 2, MOVED = 10 };

static struct nest nest;

static void place(unsigned class, granule_id range) {
    leaf_set(range, leaf_free(0));
    bool placed = nest_place(&nest, class, range);
    assert(placed);
}

static void *counting(void *unused) {
    (void)unused;
    size_t count = nest_count(&nest, FROM);
    assert(count >= 1 && count <= 3);
    return NULL;
}

static void *moving(void *unused) {
    (void)unused;
    if (nest_take_this(&nest, FROM, MOVED, leaf_free(0))) place(TO, MOVED);
    return NULL;
}

int main(void) {
    records_start();
    for (granule_id range = 8; range <= MOVED; range++) place(FROM, range);
    for (granule_id range = 11; range <= 13; range++) place(TO, range);
    size_t before = nest_count(&nest, FROM);
    assert(before == 3);
    pthread_t a = start(counting, NULL), b = start(moving, NULL);
    finish(a);
    finish(b);
    size_t from = nest_count(&nest, FROM), to = nest_count(&nest, TO);
    assert(from + to == 6 && (from == 3 || from == 2));
    return 0;
}
