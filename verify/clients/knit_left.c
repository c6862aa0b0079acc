/* knit_left - a range is left to the thread that has it from a Nest, before or after its look, or to a
 * neighbour's holder.
 *
 * bound     3 threads: relinquish | acquire | acquire the sibling on the left, each once
 * property  one of the two gets it, knowing that it was LEFT, or it stays LEFT; the holder finds what the last one
 *           wrote
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { WANTED = 8, NEIGHBOUR = 10 };

static bool taken[2];

static void *relinquishing(void *unused) {
    (void)unused;
    hold(WANTED);
    knit_relinquish(WANTED);
    return NULL;
}

static void *acquiring(void *unused) {
    (void)unused;
    enum slot_code was = knit_acquire(WANTED);
    if (was == IN_USE) return NULL;
    assert(was == LEFT);
    hold(WANTED);
    taken[0] = true;
    return NULL;
}

static void *acquiring_sibling(void *unused) {
    (void)unused;
    enum slot_code was = IN_USE;
    granule_id sibling = knit_acquire_sibling(NEIGHBOUR, ON_THE_LEFT, UNMAPPED, &was);
    if (!sibling) return NULL;
    assert(sibling == WANTED && was == LEFT);
    hold(WANTED);
    taken[1] = true;
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(WANTED);
    granule_id right = knit_split(WANTED, 2);
    assert(right == NEIGHBOUR);
    pthread_t a = start(relinquishing, NULL), b = start(acquiring, NULL), c = start(acquiring_sibling, NULL);
    finish(a);
    finish(b);
    finish(c);
    enum slot_code was = IN_USE; /* joins accept LEFT, too, whatever state they look for */
    bool left = knit_acquire_sibling(NEIGHBOUR, ON_THE_LEFT, MAPPED, &was) == WANTED;
    assert(taken[0] + taken[1] + (left && was == LEFT) == 1);
    return 0;
}
