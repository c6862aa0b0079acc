/* page_map_roots.h - roots with a name in their first record and leaf word: whether two share an id, and whether an
 * address finds its own. For the clients page_map_*. */
#ifndef JW_PAGE_MAP_ROOTS_H
#define JW_PAGE_MAP_ROOTS_H

#include "verify/clients/ranges.h"

/* Asks for up to `most` roots where only one has room. */
static char *make(uint64_t name, size_t most) {
    char *root = page_map_reserve(&most);
    assert(root && most == 1);
    bool admitted = page_map_admit_slabs(granule_of(root)); /* the records may lag behind the other tables */
    assert(admitted);
    *(uint64_t *)record_of(root) = name;
    leaf_set(granule_of(root), leaf_made(HELD, 0, (uint32_t)name));
    return root;
}

static void look(const char *root, uint64_t name) {
    assert(page_map_owns(root) && granule_address(granule_of(root)) == root);
    assert(*(uint64_t *)record_of(root) == name && record_of(root) == record_at(granule_of(root)));
    assert(leaf_same(leaf_of(root), leaf_made(HELD, 0, (uint32_t)name)));
}

#endif
