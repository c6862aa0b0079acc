/* root_parts - a thread closes two parts of the first root, while two others need memory: each may open a part, and the
 * OS may refuse one time.
 *
 * bound     3 threads: 2 parts closed, 2 looks for a part; 1 refusal
 * property  a part that is opened is one thread's, empty, and as heavy as that thread needs; none is lost
 * defines   -DMODEL_ROOTS=2
 */
#include "verify/clients/ranges.h"

static granule_id left, middle, right, opened[2];

static void *closing(void *unused) {
    (void)unused;
    if (!root_close_part(right)) place(right, UNMAPPED);
    if (!root_close_part(middle)) place(middle, UNMAPPED);
    return NULL;
}

static void *opening(void *range) {
    uint32_t weight = range == &opened[0] ? 4 : 2;
    granule_id part = root_open_part(FOR_SMALL_SLABS, weight);
    *(granule_id *)range = part;
    if (!part) return NULL;
    assert(knit_weight(part) >= weight && leaf_same(leaf_get(part), leaf_held()));
    for (uint32_t i = 0; i < weight; i++) assert(*(uint64_t *)granule_address(part + i) == 0);
    own(part);
    return NULL;
}

int main(void) {
    begin();
    model_has_parts = true;
    left = root_create(FOR_SMALL_SLABS);
    right = knit_split(left, 4);
    leaf_set(right, leaf_held());
    middle = knit_split(left, 2);
    leaf_set(middle, leaf_held());
    own(left);
    own(middle);
    own(right);
    model_faults_left = 1;
    pthread_t a = start(closing, NULL), b = start(opening, &opened[0]), c = start(opening, &opened[1]);
    finish(a);
    finish(b);
    finish(c);
    model_faults_left = 0;
    for (unsigned i = 0; i < 2; i++)
        if (opened[i]) place(opened[i], UNMAPPED);
    for (granule_id part; (part = root_open_part(FOR_SMALL_SLABS, 1));) place(own(part), UNMAPPED);
    place(left, UNMAPPED);
    end();
    return 0;
}
