/* root_spares - two threads need a root at once: each may map a spare one, or take the other's; a third gives spares
 * back.
 *
 * bound     3 threads: 2 roots made, 1 look for spares; room for 1 spare root
 * property  a thread that makes a root has it alone, and its address; in the end no root is left
 * defines   -DJW_WINDOW_SHIFT=14 -DMODEL_ROOTS=8 -DJW_SPARE_ROOTS=1 -DJW_SPARE_QUARTERS=4
 */
#include "verify/clients/ranges.h"

static granule_id first, made[2];

static void *making(void *root) {
    *(granule_id *)root = own(root_create(FOR_OTHER_RANGES));
    return NULL;
}

static void *giving_back(void *unused) {
    (void)unused;
    root_unmap_spares();
    return NULL;
}

int main(void) {
    begin();
    first = own(root_create(FOR_OTHER_RANGES));
    pthread_t a = start(making, &made[0]), b = start(making, &made[1]), c = start(giving_back, NULL);
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
