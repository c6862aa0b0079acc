/* knit_acquire - a range that is just freed is wanted by its number and as a sibling.
 *
 * bound     3 threads: release | acquire | acquire the sibling on the right, each once
 * property  one of the two gets the range, or it stays free; the holder finds what the last one wrote
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = 8, WANTED = 10 };

static bool taken[2];

static void *releasing(void *unused) {
    (void)unused;
    hold(WANTED);
    bool released = knit_release(WANTED, MAPPED);
    assert(released);
    return NULL;
}

static void *acquiring(void *unused) {
    (void)unused;
    if (knit_acquire(WANTED) == IN_USE) return NULL;
    hold(WANTED);
    taken[0] = true;
    return NULL;
}

static void *acquiring_sibling(void *unused) {
    (void)unused;
    enum slot_code was = IN_USE;
    granule_id sibling = knit_acquire_sibling(LEFTMOST, ON_THE_RIGHT, MAPPED, &was);
    if (!sibling) return NULL;
    assert(sibling == WANTED && was == MAPPED);
    hold(WANTED);
    taken[1] = true;
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    granule_id right = knit_split(LEFTMOST, 2);
    assert(right == WANTED);
    pthread_t a = start(releasing, NULL), b = start(acquiring, NULL), c = start(acquiring_sibling, NULL);
    finish(a);
    finish(b);
    finish(c);
    assert(taken[0] + taken[1] + (knit_acquire(WANTED) == MAPPED) == 1);
    return 0;
}
