/* root.h - roots: the 4 MB mappings that all ranges come from, made on demand and given back whole with their
 * records. */
#ifndef JW_ROOT_H
#define JW_ROOT_H

#include "backend/map.h"

/* What ranges a root gives. Only the first root gives all: then those that slabs are in stand close together, and the
 * pages of their records are few (map.h). The word is in the node table, where no node's is; who holds a range of the
 * root reads it. */
enum root_use { FOR_SLABS, FOR_RANGES, ROOT_USES };

static inline enum root_use root_use(granule_id range) {
    return (enum root_use)atomic_load_explicit(&map.node[range & ~(ROOT_GRANULES - 1)], memory_order_relaxed);
}

/* A new root as one held range whose pages are all zero; 0 when the OS refuses. */
granule_id root_create(enum root_use use);

/* Gives back a root that the caller holds as one range. False when the OS refuses or a walker looks at it: still
 * held. */
bool root_destroy(granule_id root);

/* Roots that exist, for the watermark and the statistics. */
size_t root_count(void);

/* A walker (statistics) keeps roots from being unmapped under its eyes: nobody waits for it, roots just stay until
 * later. Fails while a root is being given back: try again. */
bool root_walk_begin(void);
void root_walk_end(void);

/* In the child of a fork: the walkers, and who was giving a root back, did not come along. */
void root_forget_walkers(void);

#endif
