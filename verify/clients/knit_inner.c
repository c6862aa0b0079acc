/* knit_inner - a range that becomes an inner node and is one range again, next to a neighbour that is freed.
 *
 * bound     2 threads: split below, release a part, take it back by its number, join, release | acquire the sibling and
 *           join, else release, else again; the root has 16 granules
 * property  the last thread holds the whole root, by then a root again; every place is found where it last was
 * defines   -DJW_ROOT_SHIFT=12
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = ROOT, PART = LEFTMOST + 1, NEIGHBOUR = LEFTMOST + 2 };

static unsigned wholes;

/* Frees the held range, or joins it with the only sibling of its node, which makes a root. */
static void free_or_join(granule_id range, enum side side) {
    enum slot_code was;
    for (int tries = 0; tries < 2; tries++) {
        granule_id sibling = knit_acquire_sibling(range, side, MAPPED, &was);
        if (sibling) {
            assert(was == MAPPED && knit_weight(sibling) + knit_weight(range) == ROOT);
            hold(sibling);
            granule_id whole = side == ON_THE_RIGHT ? knit_join(range, sibling) : knit_join(sibling, range);
            assert(whole == LEFTMOST && knit_is_root(whole) && knit_weight(whole) == ROOT);
            wholes++;
            return;
        }
        if (knit_release(range, MAPPED)) return;
    }
    assert(false); /* a refused thread finds a sibling */
}

static void *inner(void *unused) {
    (void)unused;
    hold(LEFTMOST);
    granule_id part = knit_split(LEFTMOST, 1);
    assert(part == PART && knit_weight(part) == 1 && knit_weight(LEFTMOST) == 1);
    bool released = knit_release(part, MAPPED);
    assert(released && knit_acquire(part) == MAPPED);
    granule_id joined = knit_join(LEFTMOST, part);
    assert(joined == LEFTMOST && knit_weight(joined) == 2);
    free_or_join(joined, ON_THE_RIGHT);
    return NULL;
}

static void *neighbour(void *unused) {
    (void)unused;
    hold(NEIGHBOUR);
    free_or_join(NEIGHBOUR, ON_THE_LEFT);
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    granule_id right = knit_split(LEFTMOST, 1);
    assert(right == NEIGHBOUR && knit_weight(LEFTMOST) == 2);
    pthread_t a = start(inner, NULL), b = start(neighbour, NULL);
    finish(a);
    finish(b);
    assert(wholes == 1 && knit_is_root(LEFTMOST));
    return 0;
}
