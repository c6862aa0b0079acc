/* nest_fork - the list locks that a forking thread gets: what it then reads is what its child would find.
 *
 * bound     3 threads: lock all, read, unlock all | place | take this; 1 slot, full; 2 ranges in the list before;
 *           2 tries to lock
 * property  under the fork's lock the list is whole and does not change; afterwards it is as usable as before
 * defines   -DJW_NEST_SLOTS=1 -DJW_FORK_TRIES=2
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, IN_SLOT = 8, DEEP = 9, FIRST = 10, NEW = 11 };

static struct nest nest;
static bool kept;

static unsigned ranges_in_list(void) {
    unsigned count = 0;
    granule_id previous = 0, range = atomic_load_explicit(&nest.classes[CLASS].list, memory_order_relaxed) & ID_MASK;
    for (; range; previous = range, range = range_next(range)) {
        assert(leaf_same(leaf_get(range), leaf_with_previous(leaf_free(0), previous)));
        assert(held[range] == (range == NEW)); /* a plain read: no thread may hold it until the unlock */
        count++;
    }
    return count;
}

static void *forking(void *unused) {
    (void)unused;
    uint64_t locked = nest_lock_all(&nest);
    if (locked >> CLASS & 1) {
        unsigned count = ranges_in_list();
        assert(count >= 1 && count <= 3);
    }
    nest_unlock_all(&nest, locked);
    return NULL;
}

static void *placer(void *unused) {
    (void)unused;
    hold(NEW);
    leaf_set(NEW, leaf_free(0));
    kept = !nest_place(&nest, CLASS, NEW);
    return NULL;
}

static void *taker(void *unused) {
    (void)unused;
    if (nest_take_this(&nest, CLASS, DEEP, leaf_free(0))) hold(DEEP);
    return NULL;
}

int main(void) {
    records_start();
    for (granule_id range = IN_SLOT; range < NEW; range++) {
        leaf_set(range, leaf_free(0));
        nest_place(&nest, CLASS, range);
    }
    pthread_t a = start(forking, NULL), b = start(placer, NULL), c = start(taker, NULL);
    finish(a);
    finish(b);
    finish(c);
    unsigned left = ranges_in_list();
    assert(left == 3 - held[DEEP] - kept);
    for (granule_id range; (range = nest_take(&nest, CLASS));) hold(range);
    assert(held[IN_SLOT] == 1 && held[FIRST] == 1 && held[DEEP] == 1 && held[NEW] + kept == 2);
    return 0;
}
