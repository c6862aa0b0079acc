/* root_spare_taken - behind a new root a spare one is mapped, whose slot of the window another root has.
 *
 * bound     1 thread: 2 roots made; the arena is twice as large as the window, so that two addresses share a slot
 * property  the mapping of the spare root goes back at once
 * defines   -DMODEL_ROOTS=8 -DJW_SPARE_ROOTS=1 -DJW_SPARE_QUARTERS=4
 */
#include "verify/clients/ranges.h"

enum { OTHERS = 3 };

int main(void) {
    char *others[OTHERS];
    begin();
    others[0] = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client");
    granule_id first = own(root_create(FOR_OTHER_RANGES));
    assert(first == 2 * ROOT_GRANULES);
    for (unsigned i = 1; i < OTHERS; i++) others[i] = platform_reserve(ROOT_SIZE, ROOT_SIZE, "client");
    granule_id second = own(root_create(FOR_OTHER_RANGES)); /* the spare one's slot would be 2 */
    assert(second == ROOT_GRANULES && root_spares() == 0 && model_reserved_roots() == OTHERS + 2);
    place(first, UNMAPPED);
    place(second, UNMAPPED);
    for (unsigned i = 0; i < OTHERS; i++) {
        bool released = platform_unmap(others[i], ROOT_SIZE);
        assert(released);
    }
    end();
    return 0;
}
