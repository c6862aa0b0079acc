/* root_walker - a walker reads slabs' records while their root goes back to the OS, and once more after that.
 *
 * bound     2 threads; 1 root given back, 2 walks
 * property  no walk meets memory that is unmapped
 */
#include "verify/clients/root_walks.h"

static void *freeing(void *unused) {
    (void)unused;
    leaf_set(SLAB, leaf_held());
    range_place(SLAB, UNMAPPED);
    return NULL;
}

int main(void) {
    walk_beside(FOR_SMALL_SLABS, freeing);
    return 0;
}
