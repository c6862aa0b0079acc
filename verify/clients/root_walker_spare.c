/* root_walker_spare - a walker reads slabs while their root is kept as a spare one, which is then unmapped.
 *
 * bound     2 threads; 1 root given up and unmapped, 2 walks; room for 1 spare root
 * property  no walk meets memory that is unmapped
 * defines   -DJW_SPARE_ROOTS=1 -DJW_SPARE_QUARTERS=4
 */
#include "verify/clients/root_walks.h"

static void *giving_up(void *unused) {
    (void)unused;
    leaf_set(SLAB, leaf_held());
    if (!root_destroy(SLAB, true)) range_place(SLAB, UNMAPPED);
    root_unmap_spares();
    return NULL;
}

int main(void) {
    walk_beside(FOR_OTHER_RANGES, giving_up);
    return 0;
}
