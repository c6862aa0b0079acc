/* knit_release - adjacent siblings are freed at the same time: never both free in one state, but joined.
 *
 * bound     3 threads, each frees one of a root's three parts, joining when it is refused (twice at most)
 * property  in the end no two adjacent siblings are free, each is free or still held by the refused thread; what a
 *           holder wrote is seen by the next
 */
#include "backend/knit.h"
#include "verify/clients/records.h"

enum { LEFTMOST = 8, RIGHTMOST = 12, SIBLINGS = 3 };

static granule_id kept[SIBLINGS]; /* by a thread that was refused until the end */

static granule_id join(granule_id range) {
    enum slot_code was;
    granule_id sibling;
    while ((sibling = knit_acquire_sibling(range, ON_THE_RIGHT, MAPPED, &was))) {
        hold(sibling);
        knit_join(range, sibling);
    }
    while ((sibling = knit_acquire_sibling(range, ON_THE_LEFT, MAPPED, &was))) {
        hold(sibling);
        range = knit_join(sibling, range);
    }
    return range;
}

static void *freeing(void *which) {
    granule_id range = LEFTMOST + 2 * (granule_id)(uintptr_t)which;
    hold(range);
    for (int tries = 0; tries < 2; tries++) {
        if (knit_release(range, MAPPED)) return NULL;
        range = join(range);
        hold(range);
    }
    kept[(uintptr_t)which] = range;
    return NULL;
}

int main(void) {
    records_start();
    knit_make_root(LEFTMOST);
    for (granule_id range = LEFTMOST; range < RIGHTMOST; range += 2) knit_split(range, 2);
    pthread_t threads[SIBLINGS];
    for (uintptr_t i = 0; i < SIBLINGS; i++) threads[i] = start(freeing, (void *)i);
    for (unsigned i = 0; i < SIBLINGS; i++) finish(threads[i]);
    if (knit_is_root(LEFTMOST)) return 0; /* all are joined, and the root is held or free by that alone */
    bool last_free = false;
    for (granule_id range = LEFTMOST, next; range < LEFTMOST + ROOT; range = next) {
        bool is_kept = range == kept[0] || range == kept[1] || range == kept[2];
        next = range + knit_weight(range);
        bool is_free = knit_acquire(range) == MAPPED;
        assert(is_free != is_kept && !(is_free && last_free));
        last_free = is_free;
    }
    return 0;
}
