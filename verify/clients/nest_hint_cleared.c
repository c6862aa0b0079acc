/* nest_hint_cleared - a thread that fills the first slot of a class stops before its hint. A second thread
 * takes an old hint for the first thread's hint, and a third one clears it.
 *
 * bound     3 threads: place | place | take; 2 slots; the class was not empty before
 * property  the thread that has placed a range finds it when the third is through, wherever the first is
 * defines   -DJW_NEST_SLOTS=2
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, BEFORE = 8, FIRST = 9, SECOND = 10 };

static struct nest nest;

static void place(granule_id range) {
    leaf_set(range, leaf_free(0));
    bool placed = nest_place(&nest, CLASS, range);
    assert(placed);
}

static void *placer(void *unused) {
    (void)unused;
    place(FIRST);
    return NULL;
}

static void *taker(void *unused) {
    (void)unused;
    nest_take(&nest, CLASS);
    return NULL;
}

/* Whether any range waits, as of now: by a read-modify-write. */
static bool one_waits(void) {
    return atomic_fetch_or_explicit(&nest.classes[CLASS].summary, 0, memory_order_relaxed);
}

int main(void) {
    records_start();
    place(BEFORE);
    granule_id before = nest_take(&nest, CLASS);
    assert(before == BEFORE && nest_next_class(&nest, 0) == CLASS);
    pthread_t a = start(placer, NULL), b = start(taker, NULL);
    place(SECOND);
    finish(b);
    assert(nest_next_class(&nest, 0) == CLASS || !one_waits());
    finish(a);
    return 0;
}
