/* nest_list_hint - the hint of a class whose list is filled while the slots and the list are being found empty.
 *
 * bound     2 threads: take, take | place; 1 slot, filled before
 * property  every range is found once, or its place refused
 * defines   -DJW_NEST_SLOTS=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, FIRST = 9, SECOND = 10 };

static struct nest nest;
static bool kept;

static void take(void) {
    granule_id range = nest_take(&nest, CLASS);
    if (range) hold(range);
}

static void *taker(void *unused) {
    (void)unused;
    take();
    take();
    return NULL;
}

static void *placer(void *unused) {
    (void)unused;
    leaf_set(SECOND, leaf_free(0));
    kept = !nest_place(&nest, CLASS, SECOND);
    return NULL;
}

int main(void) {
    records_start();
    leaf_set(FIRST, leaf_free(0));
    nest_place(&nest, CLASS, FIRST);
    pthread_t a = start(taker, NULL), b = start(placer, NULL);
    finish(a);
    finish(b);
    while (nest_next_class(&nest, 0) == CLASS) take();
    assert(held[FIRST] == 1 && held[SECOND] + kept == 1);
    return 0;
}
