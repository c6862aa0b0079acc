/* knit_dissolve - two threads free the two children of an inner node while a third frees the node's neighbour.
 *
 * bound     3 threads, one free each with every join that it allows; the root has 16 granules
 * property  the last one holds the whole root; the node's word is no longer used once it is dissolved
 * defines   -DJW_ROOT_SHIFT=12
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = ROOT, PART = LEFTMOST + 1, NEIGHBOUR = LEFTMOST + 2 };

static unsigned wholes;

static void *freeing(void *start_at) {
    granule_id range = (granule_id)(uintptr_t)start_at;
    hold(range);
    while (!knit_is_root(range)) {
        enum slot_code was;
        granule_id sibling;
        if ((sibling = knit_acquire_sibling(range, ON_THE_RIGHT, MAPPED, &was))) {
            hold(sibling);
            range = knit_join(range, sibling);
        } else if ((sibling = knit_acquire_sibling(range, ON_THE_LEFT, MAPPED, &was))) {
            hold(sibling);
            range = knit_join(sibling, range);
        } else if (knit_release(range, MAPPED)) {
            return NULL;
        }
    }
    wholes++;
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    granule_id right = knit_split(LEFTMOST, 1), part = knit_split(LEFTMOST, 1);
    assert(right == NEIGHBOUR && part == PART && knit_weight(LEFTMOST) == 1);
    pthread_t a = start(freeing, (void *)LEFTMOST), b = start(freeing, (void *)PART);
    pthread_t c = start(freeing, (void *)NEIGHBOUR);
    finish(a);
    finish(b);
    finish(c);
    assert(wholes == 1 && knit_is_root(LEFTMOST) && knit_weight(LEFTMOST) == ROOT);
    return 0;
}
