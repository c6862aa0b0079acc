/* root_walker - a walker reads slabs' records while their root goes back to the OS, and once more after that.
 *
 * bound     2 threads; 1 root given back, 2 walks
 * property  no walk meets memory that is unmapped
 */
#include "verify/clients/ranges.h"

enum { SLAB = ROOT_GRANULES, WORDS = 7 };

static _Atomic(int) walks;

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
        atomic_fetch_add_explicit(&walks, 1, memory_order_relaxed);
    }
    return NULL;
}

static void *freeing(void *unused) {
    (void)unused;
    leaf_set(SLAB, leaf_held());
    range_place(SLAB, UNMAPPED);
    return NULL;
}

int main(void) {
    begin();
    granule_id root = root_create(FOR_SMALL_SLABS);
    assert(root == SLAB);
    *(uint64_t *)granule_address(root) = WORDS;
    leaf_set(root, leaf_slab(1));
    pthread_t a = start(walking, NULL), b = start(freeing, NULL);
    finish(a);
    finish(b);
    end();
    return 0;
}
