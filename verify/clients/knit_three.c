/* knit_three - one range is split, two others are joined, and a third's holder looks for what becomes free between.
 *
 * bound     3 threads: split, free the right part | join two, then free | free; each frees by acquiring and joining the
 *           sibling on one side, else releasing, else acquiring again
 * property  parts add up to the root, none is lost or doubled, no two adjacent siblings are free in the end
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = 8, SPLIT = 10, JOINED = 12, TAIL = 14 };

static granule_id kept[4]; /* ranges that a thread holds in the end */

/* Gives the range that is still held, joined; 0: it is free. */
static granule_id free_or_join(granule_id range, enum side side) {
    hold(range);
    for (int tries = 0; tries < 2; tries++) {
        enum slot_code was;
        granule_id sibling = knit_acquire_sibling(range, side, MAPPED, &was);
        if (sibling) {
            hold(sibling);
            return side == ON_THE_RIGHT ? knit_join(range, sibling) : knit_join(sibling, range);
        }
        if (knit_release(range, MAPPED)) return 0;
    }
    return range; /* refused by the neighbour on the other side */
}

static void *splitting(void *unused) {
    (void)unused;
    granule_id right = knit_split(SPLIT, 1);
    assert(right == SPLIT + 1 && knit_weight(SPLIT) == 1 && knit_weight(right) == 1);
    hold(SPLIT);
    kept[0] = SPLIT;
    kept[1] = free_or_join(right, ON_THE_RIGHT);
    return NULL;
}

static void *joining(void *unused) {
    (void)unused;
    hold(TAIL);
    granule_id joined = knit_join(JOINED, TAIL);
    assert(knit_weight(joined) == 4);
    kept[2] = free_or_join(joined, ON_THE_LEFT);
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    kept[3] = free_or_join(LEFTMOST, ON_THE_RIGHT);
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    for (granule_id range = LEFTMOST; range < TAIL; range += 2) knit_split(range, 2);
    pthread_t a = start(splitting, NULL), b = start(joining, NULL), c = start(freeing, NULL);
    finish(a);
    finish(b);
    finish(c);
    bool last_free = false;
    for (granule_id range = LEFTMOST, next; range < LEFTMOST + ROOT; range = next) {
        bool is_kept = false;
        for (unsigned i = 0; i < 4; i++) is_kept |= kept[i] == range;
        next = range + knit_weight(range);
        bool is_free = knit_acquire(range) == MAPPED;
        assert(is_free != is_kept && !(is_free && last_free));
        last_free = is_free;
    }
    return 0;
}
