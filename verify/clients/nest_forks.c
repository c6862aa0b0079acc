/* nest_forks - two threads fork at once: each unlocks only what it has locked.
 *
 * bound     2 threads: lock all, unlock all, each; 1 list, the others are locked by a third fork; 1 try to lock
 * property  a list is locked for one fork at a time, and stays so until that one unlocks it
 * defines   -DJW_NEST_SLOTS=1 -DJW_FORK_TRIES=1
 */
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { CLASS = 1, FORKING = 1 << 30 };

static struct nest nest;

static void *forking(void *unused) {
    (void)unused;
    uint64_t locked = nest_lock_all(&nest);
    assert((locked & ~(1u << CLASS)) == 0);
    if (locked) hold(CLASS);
    nest_unlock_all(&nest, locked);
    return NULL;
}

int main(void) {
    records_start();
    for (unsigned class = 0; class < RANGE_CLASSES; class ++)
        if (class != CLASS) atomic_init(&nest.classes[class].list, FORKING);
    pthread_t a = start(forking, NULL), b = start(forking, NULL);
    finish(a);
    finish(b);
    for (unsigned class = 0; class < RANGE_CLASSES; class ++) {
        uint32_t list = atomic_load_explicit(&nest.classes[class].list, memory_order_relaxed);
        assert(list == (class == CLASS ? 0 : FORKING));
    }
    assert(held[CLASS] >= 1);
    return 0;
}
