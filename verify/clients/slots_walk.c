/* slots_walk - two threads make a root each, and a walk afterwards visits both.
 *
 * bound     2 threads: 1 root made each; 1 walk, and 1 after a root is given back
 * property  a walk visits each root that there is, once, and no other
 */
#include "verify/clients/ranges.h"

enum { SLOTS = 1 << (JW_WINDOW_SHIFT - JW_ROOT_SHIFT) };

static granule_id made[2];
static unsigned visits[SLOTS];

static void *making(void *root) {
    *(granule_id *)root = own(root_create(FOR_SMALL_SLABS));
    return NULL;
}

static void visit(granule_id root, void *unused) {
    (void)unused;
    visits[root / ROOT_GRANULES]++;
}

int main(void) {
    begin();
    pthread_t a = start(making, &made[0]), b = start(making, &made[1]);
    finish(a);
    finish(b);
    page_map_walk(visit, NULL);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        assert(visits[slot] == (slot == made[0] / ROOT_GRANULES || slot == made[1] / ROOT_GRANULES));
    assert(claimed_slots() == 2);
    place(made[0], UNMAPPED);
    page_map_walk(visit, NULL);
    assert(visits[made[0] / ROOT_GRANULES] == 1 && visits[made[1] / ROOT_GRANULES] == 2);
    place(made[1], UNMAPPED);
    end();
    return 0;
}
