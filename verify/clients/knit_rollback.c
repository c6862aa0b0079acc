/* knit_rollback - a sibling taken in Knit alone goes back there while its other neighbours are freed or relinquished.
 *
 * bound     3 threads: acquire a sibling, release it again or else relinquish it | release its neighbour | relinquish
 *           the one beyond
 * property  adjacent siblings are never both free in one state, none of the three states is lost
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = 8, WANTED = 10, NEIGHBOUR = 12, BEYOND = 14 };

static bool refused;

static void *rolling_back(void *unused) {
    (void)unused;
    enum slot_code was;
    granule_id sibling = knit_acquire_sibling(LEFTMOST, ON_THE_RIGHT, MAPPED, &was);
    assert(sibling == WANTED && was == MAPPED);
    hold(WANTED);
    if (!knit_release(WANTED, MAPPED)) knit_relinquish(WANTED);
    return NULL;
}

static void *releasing(void *unused) {
    (void)unused;
    hold(NEIGHBOUR);
    refused = !knit_release(NEIGHBOUR, MAPPED);
    return NULL;
}

static void *relinquishing(void *unused) {
    (void)unused;
    knit_relinquish(BEYOND);
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    for (granule_id range = LEFTMOST; range < BEYOND; range += 2) knit_split(range, 2);
    bool released = knit_release(WANTED, MAPPED);
    assert(released);
    pthread_t a = start(rolling_back, NULL), b = start(releasing, NULL), c = start(relinquishing, NULL);
    finish(a);
    finish(b);
    finish(c);
    enum slot_code wanted = knit_acquire(WANTED), neighbour = knit_acquire(NEIGHBOUR);
    assert(wanted == (refused || neighbour == IN_USE ? MAPPED : LEFT));
    assert(neighbour == (refused ? IN_USE : MAPPED) && knit_acquire(BEYOND) == LEFT);
    return 0;
}
