/* knit_root - a whole root is freed by one thread and taken by another: it has no siblings (the paper's authors' bug).
 *
 * bound     2 threads: look for siblings, release, place | take, look for siblings, split, release a part
 * property  a root finds no sibling and needs none to pass on; no record beyond its own is looked at
 */
#include "backend/knit.h"
#include "backend/nest.h"
#include "verify/clients/records.h"

enum { RANGE = 8, PARENTLESS = 1 << 15, CLASS = 7 };

/* More memory follows the records' table: in it what a root would take for its parent's word, by chance with a free
 * sibling. */
static table_word nodes[PARENTLESS + RECORDS] = {[RANGE + PARENTLESS] = MAPPED << 3};
static struct nest nest;

static void look_for_siblings(void) {
    enum slot_code was;
    granule_id left = knit_acquire_sibling(RANGE, ON_THE_LEFT, MAPPED, &was);
    granule_id right = knit_acquire_sibling(RANGE, ON_THE_RIGHT, MAPPED, &was);
    assert(!left && !right);
}

static void *freeing(void *unused) {
    (void)unused;
    hold(RANGE);
    look_for_siblings();
    leaf_set(RANGE, leaf_free(0));
    bool released = knit_release(RANGE, MAPPED), placed = nest_place(&nest, CLASS, RANGE);
    assert(released && placed);
    return NULL;
}

static void *taking(void *unused) {
    (void)unused;
    granule_id range = nest_take(&nest, CLASS);
    if (!range) return NULL;
    assert(range == RANGE && knit_acquire(range) != IN_USE && knit_weight(range) == ROOT);
    hold(range);
    look_for_siblings();
    granule_id right = knit_split(range, 3);
    assert(right == RANGE + 3 && knit_weight(range) == 3 && knit_weight(right) == ROOT - 3);
    bool released = knit_release(right, MAPPED);
    assert(released);
    return NULL;
}

int main(void) {
    records_start();
    page_map.node = nodes;
    checker_uninitialised(nodes, RECORDS * sizeof *nodes);
    checker_uninitialised(&nodes[PARENTLESS], RECORDS * sizeof *nodes);
    knit_make_root(RANGE);
    pthread_t a = start(freeing, NULL), b = start(taking, NULL);
    finish(a);
    finish(b);
    return 0;
}
