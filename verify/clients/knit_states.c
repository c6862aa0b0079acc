/* knit_states - a range goes from unmapped to mapped (it is reclaimed the other way round) beside a mapped neighbour.
 *
 * bound     3 threads: release unmapped | acquire, release mapped | look for a mapped sibling, else release mapped
 * property  only a sibling in the wanted state is given; siblings in two states may be neighbours, in one they may not
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = 8, RANGE = 10 };

static bool moved, refused, joined;

static void *releasing(void *unused) {
    (void)unused;
    hold(RANGE);
    bool released = knit_release(RANGE, UNMAPPED);
    assert(released);
    return NULL;
}

static void *moving(void *unused) {
    (void)unused;
    enum slot_code was = knit_acquire(RANGE);
    if (was == IN_USE) return NULL;
    assert(was == UNMAPPED);
    hold(RANGE);
    moved = true;
    refused = !knit_release(RANGE, MAPPED);
    return NULL;
}

static void *looking(void *unused) {
    (void)unused;
    enum slot_code was = IN_USE;
    granule_id sibling = knit_acquire_sibling(LEFTMOST, ON_THE_RIGHT, MAPPED, &was);
    if (sibling) {
        assert(sibling == RANGE && was == MAPPED);
        hold(RANGE);
        assert(held[RANGE] == 3);
        joined = true;
        return NULL;
    }
    if (!knit_release(LEFTMOST, MAPPED)) joined = knit_acquire_sibling(LEFTMOST, ON_THE_RIGHT, MAPPED, &was);
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    granule_id right = knit_split(LEFTMOST, 2);
    assert(right == RANGE);
    pthread_t a = start(releasing, NULL), b = start(moving, NULL), c = start(looking, NULL);
    finish(a);
    finish(b);
    finish(c);
    enum slot_code state = knit_acquire(RANGE), left = knit_acquire(LEFTMOST);
    assert(left == (joined ? IN_USE : MAPPED));
    assert(state == (joined || refused ? IN_USE : moved ? MAPPED : UNMAPPED));
    assert(state != MAPPED || left != MAPPED);
    return 0;
}
