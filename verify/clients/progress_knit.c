/* progress_knit - two threads split, release, acquire and join siblings, and each may stop for good at any of its
 * steps. A third thread does so beside them, in the same node.
 *
 * bound     3 threads: 1 split and 1 release | 1 acquisition of a sibling and 1 join, or 1 relinquish | 1 acquisition,
 *           1 release and 1 look for siblings; a root of 8 granules in 3 parts
 * property  no operation waits for another thread: each ends, whatever step the others have stopped at; each range has
 *           one holder
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFT_PART = 8, MIDDLE = 10, RIGHT_PART = 12 };

static void *splitting(void *unused) {
    (void)unused;
    checker_may_stop(true);
    hold(RIGHT_PART);
    granule_id right = knit_split(RIGHT_PART, 2);
    assert(right == RIGHT_PART + 2);
    knit_release(RIGHT_PART, MAPPED);
    return NULL;
}

static void *joining(void *unused) {
    (void)unused;
    checker_may_stop(true);
    hold(LEFT_PART);
    if (checker_choose(2)) {
        knit_relinquish(LEFT_PART);
        return NULL;
    }
    enum slot_code was;
    granule_id right = knit_acquire_sibling(LEFT_PART, ON_THE_RIGHT, MAPPED, &was);
    if (!right) return NULL;
    assert(right == MIDDLE && was == MAPPED);
    hold(MIDDLE);
    granule_id joined = knit_join(LEFT_PART, MIDDLE);
    assert(joined == LEFT_PART);
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFT_PART);
    granule_id middle = knit_split(LEFT_PART, 2);
    assert(middle == MIDDLE);
    granule_id right = knit_split(MIDDLE, 2);
    assert(right == RIGHT_PART);
    hold(MIDDLE);
    bool released = knit_release(MIDDLE, MAPPED);
    assert(released);
    pthread_t a = start(splitting, NULL), b = start(joining, NULL);
    if (knit_acquire(MIDDLE) != IN_USE) {
        hold(MIDDLE);
        enum slot_code was;
        granule_id left = knit_acquire_sibling(MIDDLE, ON_THE_LEFT, MAPPED, &was);
        assert(!left || (left == LEFT_PART && was == LEFT));
        if (left) hold(left);
        else knit_release(MIDDLE, MAPPED);
    }
    finish(a);
    finish(b);
    return 0;
}
