/* progress_window - a thread makes a root or gives one back, and may stop for good at any of its steps: with a slot of
 * the window claimed, or mapped and not claimed yet, or unmapped and not free yet; while it alone may make spare roots.
 * Then another thread makes roots.
 *
 * bound     2 threads: 1 root made or 1 given back | then 2 roots made and 1 walk; room for 1 spare root
 * property  no operation waits for another thread: each ends, whatever step the other has stopped at; each root has
 *           one owner
 * defines   -DJW_WINDOW_SHIFT=14 -DMODEL_ROOTS=8 -DJW_SPARE_ROOTS=1 -DJW_SPARE_QUARTERS=4
 */
#include "verify/clients/ranges.h"

static granule_id first;

static void make(void) {
    granule_id root = root_create(FOR_OTHER_RANGES);
    assert(root);
    own(root);
}

static void *stopping(void *unused) {
    (void)unused;
    checker_may_stop(true);
    if (checker_choose(2)) make();
    else root_destroy(first, false);
    return NULL;
}

static void visit(granule_id root, void *unused) {
    (void)unused;
    assert(root % ROOT_GRANULES == 0);
}

int main(void) {
    begin();
    first = root_create(FOR_OTHER_RANGES);
    assert(first);
    finish(start(stopping, NULL));
    make();
    make();
    page_map_walk(visit, NULL);
    return 0;
}
