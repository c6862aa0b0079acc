/* knit_split_join - a range is split in its parent while its neighbour is freed, or acquires and joins its left part.
 *
 * bound     2 threads: split, release both parts in two states | acquire a sibling and join it, else release, else
 *           again
 * property  no part is lost or doubled, each has the weight that it was given; a new part's place is seen with it
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = 8, MIDDLE = 10, NEW = 12 };

static void *splitting(void *unused) {
    (void)unused;
    granule_id right = knit_split(MIDDLE, 2);
    assert(right == NEW);
    hold(MIDDLE);
    hold(NEW);
    bool released = knit_release(NEW, UNMAPPED);
    assert(released);
    if (knit_release(MIDDLE, MAPPED)) return NULL;
    enum slot_code was;
    granule_id left = knit_acquire_sibling(MIDDLE, ON_THE_LEFT, MAPPED, &was);
    assert(left == LEFTMOST && was == MAPPED);
    hold(left);
    hold(MIDDLE);
    knit_join(left, MIDDLE);
    return NULL;
}

static bool join_middle(void) {
    enum slot_code was;
    granule_id sibling = knit_acquire_sibling(LEFTMOST, ON_THE_RIGHT, MAPPED, &was);
    if (!sibling) return false;
    assert(sibling == MIDDLE && was == MAPPED && knit_weight(sibling) == 2);
    hold(sibling);
    hold(LEFTMOST);
    knit_join(LEFTMOST, sibling);
    return true;
}

static void *joining(void *unused) {
    (void)unused;
    hold(LEFTMOST);
    if (join_middle() || knit_release(LEFTMOST, MAPPED)) return NULL;
    bool joined = join_middle();
    assert(joined);
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    granule_id right = knit_split(LEFTMOST, 2);
    assert(right == MIDDLE && knit_weight(MIDDLE) == 6);
    pthread_t a = start(splitting, NULL), b = start(joining, NULL);
    finish(a);
    finish(b);
    assert(knit_weight(LEFTMOST) == 4 && knit_weight(NEW) == 4);
    assert(knit_acquire(LEFTMOST) == IN_USE && knit_acquire(NEW) == UNMAPPED);
    assert(held[LEFTMOST] == 2 && held[MIDDLE] == 2);
    return 0;
}
