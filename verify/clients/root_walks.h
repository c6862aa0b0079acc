/* root_walks.h - a walker reads the slab of a root, twice, while another thread gives the root up. */
#ifndef JW_CLIENTS_ROOT_WALKS_H
#define JW_CLIENTS_ROOT_WALKS_H

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

/* A root of that use with a slab, a walker, and the other thread. */
static inline void walk_beside(enum root_use use, void *(*giving_up)(void *unused)) {
    begin();
    granule_id root = root_create(use);
    assert(root == SLAB);
    *(uint64_t *)granule_address(root) = WORDS;
    leaf_set(root, leaf_slab(1));
    pthread_t a = start(walking, NULL), b = start(giving_up, NULL);
    finish(a);
    finish(b);
    end();
}

#endif
