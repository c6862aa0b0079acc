/* knit_split_all - a range is split into single granules in its parent, while its neighbour is freed, or acquires and
 * joins the first of them. Another range is split so in a new node.
 *
 * bound     2 threads: split, release the last granule and the first in two states | acquire a sibling and join it,
 *           else release, else again; the root has 16 granules
 * property  each granule is a range of its own and is found again, none is lost or doubled; all join to the root
 * defines   -DJW_ROOT_SHIFT=12
 */
#include "verify/clients/records.h"

enum { LEFTMOST = ROOT, FIRST, KEPT, LAST, REST, NEW_NODE = LEFTMOST + NODE_SLOTS, END_OF_ROOT = LEFTMOST + ROOT };
enum { FIRST_WEIGHT = 1 };

#include "verify/clients/knit_neighbour.h"

static void *splitting(void *unused) {
    (void)unused;
    knit_split_all(FIRST, REST - FIRST);
    for (granule_id range = FIRST; range < REST; range++) {
        assert(knit_weight(range) == 1);
        hold(range);
    }
    bool released = knit_release(LAST, UNMAPPED);
    assert(released);
    release_or_join_first();
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    granule_id right = knit_split(LEFTMOST, NODE_SLOTS);
    assert(right == NEW_NODE);
    knit_split_all(NEW_NODE, NODE_SLOTS);
    knit_split(LEFTMOST, 1);
    knit_split(FIRST, REST - FIRST);
    pthread_t a = start(splitting, NULL), b = start(joining, NULL);
    finish(a);
    finish(b);
    assert(knit_weight(LEFTMOST) == 2 && knit_acquire(LEFTMOST) == IN_USE && held[LEFTMOST] == 2);
    assert(knit_acquire(KEPT) == IN_USE && knit_acquire(LAST) == UNMAPPED);
    knit_join(LEFTMOST, KEPT);
    knit_join(LEFTMOST, LAST);
    knit_join(LEFTMOST, REST);
    for (granule_id range = NEW_NODE + 1; range < END_OF_ROOT; range++) {
        assert(knit_weight(range) == 1);
        knit_join(NEW_NODE, range);
    }
    assert(knit_weight(LEFTMOST) == NODE_SLOTS && knit_weight(NEW_NODE) == NODE_SLOTS);
    assert(knit_join(LEFTMOST, NEW_NODE) == LEFTMOST && knit_is_root(LEFTMOST));
    return 0;
}
