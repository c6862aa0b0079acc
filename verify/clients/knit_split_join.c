/* knit_split_join - a range is split in its parent while its neighbour is freed, or acquires and joins its left part.
 *
 * bound     2 threads: split, release both parts in two states | acquire a sibling and join it, else release, else
 *           again
 * property  no part is lost or doubled, each has the weight that it was given; a new part's place is seen with it
 */
enum { LEFTMOST = 8, FIRST = 10, NEW = 12, FIRST_WEIGHT = NEW - FIRST };

#include "verify/clients/knit_neighbour.h"

static void *splitting(void *unused) {
    (void)unused;
    granule_id right = knit_split(FIRST, 2);
    assert(right == NEW);
    hold(FIRST);
    hold(NEW);
    bool released = knit_release(NEW, UNMAPPED);
    assert(released);
    release_or_join_first();
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    granule_id right = knit_split(LEFTMOST, 2);
    assert(right == FIRST && knit_weight(FIRST) == 6);
    pthread_t a = start(splitting, NULL), b = start(joining, NULL);
    finish(a);
    finish(b);
    assert(knit_weight(LEFTMOST) == 4 && knit_weight(NEW) == 4);
    assert(knit_acquire(LEFTMOST) == IN_USE && knit_acquire(NEW) == UNMAPPED);
    assert(held[LEFTMOST] == 2 && held[FIRST] == 2);
    return 0;
}
