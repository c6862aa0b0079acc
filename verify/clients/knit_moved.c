/* knit_moved - a range's left neighbour is acquired and split, and its left part released. Meanwhile the holder of the
 * range tries to acquire that neighbour. What is free then is no neighbour any more.
 *
 * bound     2 threads: acquire, split, release the left part | acquire the left sibling, join
 * property  a joined sibling is a neighbour: parts add up to the root, none is lost or doubled
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = 8, RIGHT = 10, REST = 12 };

static bool split, joined;

static void *splitting(void *unused) {
    (void)unused;
    if (knit_acquire(LEFTMOST) != MAPPED) return NULL;
    hold(LEFTMOST);
    granule_id right = knit_split(LEFTMOST, 1);
    assert(right == LEFTMOST + 1 && knit_weight(right) == 1);
    split = knit_release(LEFTMOST, MAPPED);
    assert(split);
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    enum slot_code was;
    hold(RIGHT);
    granule_id sibling = knit_acquire_sibling(RIGHT, ON_THE_LEFT, MAPPED, &was);
    if (!sibling) return NULL;
    assert(was == MAPPED && sibling == LEFTMOST && knit_weight(sibling) == 2);
    hold(sibling);
    knit_join(sibling, RIGHT);
    joined = true;
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    for (granule_id range = LEFTMOST; range < REST; range += 2) knit_split(range, 2);
    bool free = knit_release(LEFTMOST, MAPPED);
    assert(free);
    pthread_t a = start(splitting, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    assert(split != joined && knit_weight(LEFTMOST) == (split ? 1 : 4));
    return 0;
}
