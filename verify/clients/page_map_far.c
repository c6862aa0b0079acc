/* page_map_far - the first half of the tables is for slot 0, the other for slot 4 (page_map.c: far). The first root is
 * in slot 4. Two threads need roots when no slot is free: each doubles both parts without the other; a walk
 * passes over what lies between the parts.
 *
 * bound     2 threads: 2 roots reserved, 1 look-up, 1 walk in the end; tables for 2 slots at first, for 4 in the end
 * property  each root has an id, a slot and records of its own; no slot between the parts is used
 * defines   -DJW_FIRST_WINDOW_SHIFT=12 -DJW_WINDOW_SHIFT=14 -DMODEL_ROOTS=8 -DMODEL_REGION=32768 -DMODEL_RANDOM=44
 */
#include "verify/clients/page_map_roots.h"

static char *first, *made[2];
static uint32_t visits[2]; /* of the slots 0 to 3, and 4 to 7 */

static void *making(void *unused) {
    (void)unused;
    made[0] = make(1, 2);
    return NULL;
}

static void *looking(void *unused) {
    (void)unused;
    made[1] = make(2, 2);
    look(first, 3);
    return NULL;
}

static void visit(granule_id root, void *context) {
    (void)context;
    granule_id slot = root / ROOT_GRANULES;
    visits[slot / 4] |= 1u << slot % 4;
}

int main(void) {
    begin();
    model_waits_end = true;
    first = make(3, 2);
    assert(granule_of(first) / ROOT_GRANULES == 4);
    pthread_t a = start(making, NULL), b = start(looking, NULL);
    finish(a);
    finish(b);
    look(first, 3);
    look(made[0], 1);
    look(made[1], 2);
    page_map_walk(visit, NULL);
    assert(visits[0] == 1u << 1 && visits[1] == (1u << 0 | 1u << 1));
    assert(page_map_give_back(made[0]) && page_map_give_back(made[1]) && page_map_give_back(first));
    assert(claimed_slots() == 0 && model_reserved_roots() == 0);
    return 0;
}
