/* parts_closed - two threads close parts of a free range at the same time, as where the records lack addresses. Then
 * the OS may refuse one part.
 *
 * bound     2 threads: 2 parts closed; then 1 part, 1 refusal
 * property  no part is closed twice, and none is lost; what is not closed is free
 * defines   -DMODEL_ROOTS=2
 */
#include "backend/first_range.h"
#include "verify/clients/ranges.h"

static bool closed[3];

static void *closing(void *done) {
    *(bool *)done = range_close(FOR_SMALL_SLABS, 1);
    return NULL;
}

int main(void) {
    begin();
    model_has_parts = true;
    granule_id left = root_create(FOR_SMALL_SLABS), right = knit_split(left, 4), part;
    leaf_set(right, leaf_held());
    own(left);
    place(own(right), UNMAPPED);
    pthread_t a = start(closing, &closed[0]), b = start(closing, &closed[1]);
    finish(a);
    finish(b);
    model_faults_left = 1;
    closing(&closed[2]);
    model_faults_left = 0;
    unsigned parts = 0;
    for (; (part = root_open_part(FOR_SMALL_SLABS, 1)); parts++) {
        free_granules_add(UNMAPPED, -(intptr_t)knit_weight(part));
        place(own(part), UNMAPPED);
    }
    assert(parts == closed[0] + closed[1] + (unsigned)closed[2]);
    place(left, UNMAPPED);
    end();
    return 0;
}
