/* spare_left - two threads need a root at once, and one of them has a spare root too many. A third gets a mapping of
 * its own, perhaps where that root was.
 *
 * bound     3 threads: 2 roots made, 1 mapping; room for 1 spare root
 * property  the mapping does not pass for memory of a root; in the end no root is left
 * defines   -DJW_WINDOW_SHIFT=14 -DMODEL_ROOTS=8 -DJW_SPARE_ROOTS=1 -DJW_SPARE_QUARTERS=4
 */
#include "verify/clients/ranges.h"

static granule_id first, made[2];

static void *making(void *root) {
    *(granule_id *)root = own(root_create(FOR_OTHER_RANGES));
    return NULL;
}

static void *mapping(void *unused) {
    char *address = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client");
    if (!address) return unused;
    assert(!page_map_owns(address));
    bool released = platform_unmap(address, ROOT_SIZE);
    assert(released);
    return unused;
}

int main(void) {
    begin();
    first = own(root_create(FOR_OTHER_RANGES));
    pthread_t a = start(making, &made[0]), b = start(making, &made[1]), c = start(mapping, NULL);
    finish(a);
    finish(b);
    finish(c);
    assert(made[0] && made[1] && root_count() == 3 && root_spares() <= 1);
    place(made[0], UNMAPPED);
    place(made[1], UNMAPPED);
    place(first, UNMAPPED);
    root_unmap_spares();
    end();
    return 0;
}
