/* knit_neighbour.h - the two threads of a client that splits a range beside its left neighbour: one releases the first
 * part, the other frees the neighbour or joins it with that part.
 *
 * The client names LEFTMOST, FIRST and FIRST_WEIGHT before it includes this file. */
#ifndef JW_KNIT_NEIGHBOUR_H
#define JW_KNIT_NEIGHBOUR_H

#include "backend/knit.h"
#include "verify/clients/records.h"

/* Releases the first part, or joins it with its left neighbour, which is free then. */
static void release_or_join_first(void) {
    if (knit_release(FIRST, MAPPED)) return;
    enum slot_code was;
    granule_id left = knit_acquire_sibling(FIRST, ON_THE_LEFT, MAPPED, &was);
    assert(left == LEFTMOST && was == MAPPED);
    hold(left);
    hold(FIRST);
    knit_join(left, FIRST);
}

static bool join_first(void) {
    enum slot_code was;
    granule_id sibling = knit_acquire_sibling(LEFTMOST, ON_THE_RIGHT, MAPPED, &was);
    if (!sibling) return false;
    assert(sibling == FIRST && was == MAPPED && knit_weight(sibling) == FIRST_WEIGHT);
    hold(sibling);
    hold(LEFTMOST);
    knit_join(LEFTMOST, sibling);
    return true;
}

static void *joining(void *unused) {
    (void)unused;
    hold(LEFTMOST);
    if (join_first() || knit_release(LEFTMOST, MAPPED)) return NULL;
    bool joined = join_first();
    assert(joined);
    return NULL;
}

#endif
