/* nest_hints - summary and nonempty are hints that are never cleared too long.
 *
 * bound     2 threads: take | take, place; 1 range before, 1 slot
 * property  every range is found once, by a thread or at the end by the hints, and as its placer left it
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, FIRST = 9, SECOND = 10 };

static struct nest nest;

static void place(granule_id range) {
    hold(range);
    leaf_set(range, leaf_free(0));
    bool placed = nest_place(&nest, CLASS, range);
    assert(placed);
}

static void take(void) {
    granule_id range = nest_take(&nest, CLASS);
    if (range) hold(range);
}

static void *once(void *unused) {
    (void)unused;
    take();
    return NULL;
}

static void *twice(void *unused) {
    (void)unused;
    take();
    place(SECOND);
    return NULL;
}

int main(void) {
    records_start();
    place(FIRST);
    pthread_t a = start(once, NULL), b = start(twice, NULL);
    finish(a);
    finish(b);
    while (nest_next_class(&nest, 0) == CLASS) take();
    assert(held[FIRST] == 2 && held[SECOND] == 2);
    return 0;
}
