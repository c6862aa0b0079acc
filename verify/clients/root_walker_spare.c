/* root_walker_spare - a walker reads slabs while their root is kept as a spare one, which is then unmapped.
 *
 * bound     2 threads; 1 root given up and unmapped, 2 walks; room for 1 spare root
 * property  no walk meets memory that is unmapped
 * defines   -DJW_SPARE_ROOTS=1 -DJW_SPARE_QUARTERS=4
 */
#include "verify/clients/ranges.h"

enum { SLAB = ROOT_GRANULES, WORDS = 7 };

static void look(granule_id root, void *unused) {
    (void)unused;
    /* acquire: as the walk of the statistics */
    struct leaf_word leaf = {atomic_load_explicit(&page_map.leaf[root], memory_order_acquire)};
    if (leaf_is_slab(leaf)) assert(*(uint64_t *)granule_address(root) == WORDS);
}

static void *walking(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        if (!root_walk_begin()) continue;
        page_map_walk(look, NULL);
        root_walk_end();
    }
    return NULL;
}

static void *giving_up(void *unused) {
    (void)unused;
    leaf_set(SLAB, leaf_held());
    if (!root_destroy(SLAB, true)) range_place(SLAB, UNMAPPED);
    root_unmap_spares();
    return NULL;
}

int main(void) {
    begin();
    granule_id root = root_create(FOR_OTHER_RANGES);
    assert(root == SLAB);
    *(uint64_t *)granule_address(root) = WORDS;
    leaf_set(root, leaf_slab(1));
    pthread_t a = start(walking, NULL), b = start(giving_up, NULL);
    finish(a);
    finish(b);
    end();
    return 0;
}
