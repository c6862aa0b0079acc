/* root.h - roots: the 4 MB mappings that all ranges come from. They are made on demand and given back whole, with their
 * records.
 *
 * Mapping takes a lock of the kernel that waits for all page faults of the process. So one thread at a time maps some
 * spare roots together with the root that it needs. Spare roots are only address space: their slots are claimed, but
 * their memory was never touched. After mlockall(MCL_FUTURE) they would have pages, so from the first one on there are
 * none.
 *
 * A root that goes while others are made is kept as a spare one, too: its memory is as untouched again.
 *
 *   spare_roots[]   0 -> root   the thread that has mapped it or given it up, by compare-exchange
 *                   root -> 0   by exchange: a thread that needs a root; a round, if no root was made since the last
 *                               round; a thread that finds that the OS has no memory
 */
#ifndef JW_ROOT_H
#define JW_ROOT_H

#include "backend/page_map.h"
#include "config/policy.h"

/* What a root's ranges are for: slabs of the frontend, which have records; or mid slabs and large objects. The first
 * root serves all uses. Another root serves another use only if no other memory is left; but mapped ranges of a root
 * for small slabs serve all uses (backend.c). So the granules of slabs are close together, and few pages have records
 * (page_map.h). In the hardened build each root, also the first, has one use until no other memory is left. A root's
 * word is in the node table, where no node's word is. A thread that holds a range of the root reads the word. The
 * reserve of real-time threads is a third use, beside these two (reserve.h).
 *
 *   word   | 3 mid slabs may be in it | 2 slabs may be in it: it has records, which can be written | 1..0 use |
 */
enum root_use { FOR_SMALL_SLABS, FOR_OTHER_RANGES, ROOT_USES, FOR_RESERVE = ROOT_USES };
#define ROOT_USE 3u
#define HAS_SLABS 4u
#define HAS_MID_SLABS 8u
_Static_assert(FOR_RESERVE < ROOT_USE && ROOT_USE < HAS_SLABS, "the use is two bits, below HAS_SLABS");

static inline enum root_use root_other_use(enum root_use use) {
    return use == FOR_SMALL_SLABS ? FOR_OTHER_RANGES : FOR_SMALL_SLABS;
}

static ALWAYS_INLINE enum root_use root_use(granule_id range) {
    uint32_t word = atomic_load_explicit(root_word_at(root_of(range)), memory_order_relaxed);
    return (enum root_use)(word & ROOT_USE);
}

/* Whether slabs of the frontend, or mid slabs, may be in the root. Walks over slabs pass over other roots. relaxed: the
 * bit is older than each of the root's slabs */
static inline bool root_has_slabs(granule_id root) {
    return atomic_load_explicit(root_word_at(root), memory_order_relaxed) & HAS_SLABS;
}

static inline bool root_has_mid_slabs(granule_id root) {
    return atomic_load_explicit(root_word_at(root), memory_order_relaxed) & HAS_MID_SLABS;
}

/* Called before the held range becomes a mid slab. */
static inline void root_admit_mid_slab(granule_id range) {
    granule_id root = root_of(range);
    if (!root_has_mid_slabs(root)) atomic_fetch_or_explicit(root_word_at(root), HAS_MID_SLABS, memory_order_relaxed);
}

/* Whether the held range may be a slab. For the first one of a root, the OS is asked for writable records. */
bool root_admits_slabs(granule_id range);

/* Reads the process's limits. Called once, by the first slow path. */
void root_start(void);

/* Makes a root: one held range whose pages are all zero; 0 when the OS refuses. */
granule_id root_create(enum root_use use);

/* Only a part of the first root is mapped at first: a small program is not charged for the rest. Other roots give up
 * parts where the records lack addresses (backend.c). A closed part is a held range without addresses, so no neighbour
 * joins it, and its root stays. Nothing of ours is mapped there meanwhile, as the kernel maps nothing there by itself
 * (page_map.h).
 *
 *   closed_parts[]   0 -> part   the thread that has closed it, after unmapping, once; a thread that could not open it
 *                    part -> 0   by exchange: a thread that needs a range
 */
_Static_assert(ROOT_SIZE >> FIRST_CLOSED_PARTS <= FIRST_PART, "each half that is closed has an entry of closed_parts");

/* Unmaps a held range without pages, and keeps it. Of the first root, larger parts first. False when the OS refuses, or
 * no entry is left: then the caller still holds it. */
bool root_close_part(granule_id part);

/* Whether other roots than the first have ever closed a part. */
wide_bool root_has_lost_parts(void);

/* Maps a closed part of at least that weight: a held range whose pages are all zero. 0: none, or the OS refuses. */
granule_id root_open_part(enum root_use use, uint32_t weight);

/* Whether a large object may have a new root. Half of the window is left to slabs: further objects get their own
 * mappings (huge.h). */
bool root_may_serve_large(void);

/* Whether each slot has a root. Then no root can be made. Objects above the frontend's sizes that find no range get
 * mappings of their own, then as where the OS has no room for a root. */
bool root_window_is_full(void);

/* Gives back a root that the caller holds as one range, or keeps it as a spare one. `zero`: its pages are all zero, as
 * those of a spare root. False when the OS refuses or there is a walker: then the caller still holds it. */
wide_bool root_destroy(granule_id root, wide_bool zero);

/* Roots that exist, for the watermark and the statistics. */
size_t root_count(void);

/* A walker (statistics, iteration) keeps roots mapped while it reads them. No thread waits for it: roots are given back
 * later. root_walk_begin fails while a root is being given back. The other one tries again, WALK_TRIES times, and
 * sleeps between two tries. */
bool root_walk_begin(void);
wide_bool root_walk_begin_or_wait(void);
void root_walk_end(void);

/* How many forks lie behind this process. A thread that forks in a walk has no walk in the child: it must not end one
 * there. */
uint32_t root_forks(void);

/* Forgets threads that walked, gave roots back or made spares. The child of a fork does not have them. */
void root_forget_threads(void);

/* After all roots but the spare ones were sealed: none is there. Closed parts stay closed. By a thread that is alone in
 * the process. */
void root_forget_sealed(void);

/* Called once a round: unmaps the spare roots if no root was made since the last round, or `now`. True: spare roots are
 * left for a later round. */
wide_bool root_round(bool now);

/* The OS has refused memory: no root is mapped ahead any more, or a limit would count it. */
void root_end_spares(void);

/* Unmaps all spare roots. Returns whether the OS took one. */
wide_bool root_unmap_spares(void);
/* Returns the number of spare roots: a snapshot. */
size_t root_spares(void);

#endif
