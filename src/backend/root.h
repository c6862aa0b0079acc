/* root.h - roots: the 4 MB mappings that all ranges come from, made on demand and given back whole with their
 * records.
 *
 * Mapping takes a lock of the kernel that waits for all page faults of the process. So with each root that is wanted
 * some more are mapped, spare roots, by one thread at a time. They are address space alone: their slots are claimed,
 * but nothing of them was ever touched.
 *
 *   spare   0 -> root   who has mapped it, by compare-exchange
 *           root -> 0   by exchange: who wants a root; a round, where none was wanted since the last one; who finds
 *                       that the OS has no memory
 */
#ifndef JW_ROOT_H
#define JW_ROOT_H

#include "backend/page_map.h"

/* What ranges a root gives. Only the first root gives all: then those that slabs are in stand close together, and the
 * pages of their records are few (page_map.h). The word is in the node table, where no node's is; a thread that holds a
 * range of the root reads it.
 *
 *   word   | 1 slabs may be in it: its records can be written | 0 use |
 */
enum root_use { FOR_SLABS, FOR_RANGES, ROOT_USES };
#define HAS_SLABS 2u

static inline enum root_use root_use(granule_id range) {
    uint32_t word = atomic_load_explicit(root_word_at(range & ~(ROOT_GRANULES - 1)), memory_order_relaxed);
    return (enum root_use)(word & FOR_RANGES);
}

/* Whether the range of ours may be a slab; where its root was not meant for slabs, the OS is asked. */
bool root_admits_slabs(granule_id range);

/* Notes what limits there are. Called once, by the first slow path. */
void root_start(void);

/* A new root as one held range whose pages are all zero; 0 when the OS refuses. */
granule_id root_create(enum root_use use);

/* Whether a large object may have a new root. Half of the window is left to slabs: objects beyond are mappings of their
 * own (huge.h). */
bool root_for_large(void);

/* Gives back a root that the caller holds as one range. False when the OS refuses or a walker looks at it: still
 * held. */
bool root_destroy(granule_id root);

/* Roots that exist, for the watermark and the statistics. */
size_t root_count(void);

/* A walker (statistics) keeps roots from being unmapped under its eyes: nobody waits for it, roots just stay until
 * later. Fails while a root is being given back: try again. */
bool root_walk_begin(void);
void root_walk_end(void);

/* In the child of a fork: the walkers, who was giving a root back, and who made spares, did not come along. */
void root_forget_threads(void);

/* Once a round: spares that nobody wanted go. True: there are some for a later round. */
bool root_round(void);

/* All spares go. Whether there were any. */
bool root_unmap_spares(void);
size_t root_spares(void);

#endif
