/* ownership.h - who has a range: the protocol between Nest and Knit (the paper's Figure 11, lines 17-42).
 *
 * A free range is owned half by Nest, half by Knit; taking or giving both is never atomic, so each second step can fail
 * and has its rollback:
 *
 *   acquire by size    Nest, then Knit    Knit fails: back into Nest (or deferred, "not acquired"); try again, then a
 *                                         larger class
 *   acquire a sibling  Knit, then Nest    Nest fails: back into Knit; no join
 *   release            Nest, then Knit    Knit refuses (a neighbour became free): out of Nest again, join it, else
 *                                         defer; somebody has it from Nest: it is left to them (LEFT)
 *
 * A giving back into Knit that is refused ends as LEFT too: then two free neighbours stay apart until one is next
 * taken. Deferred ranges hang in one lock-free list and are placed later by the reclamation thread, or by whoever finds
 * nothing.
 */
#ifndef JW_OWNERSHIP_H
#define JW_OWNERSHIP_H

#include "backend/knit.h"
#include "backend/nest.h"
#include "backend/root.h"
#include "sync/id_stack.h"

/* For each use of roots: two buffers of mapped ranges, one active and one standby (thrift.h), and one of unmapped
 * ranges. */
enum { UNMAPPED_NEST = 2, NESTS_OF_USE = 3, NESTS = ROOT_USES * NESTS_OF_USE };

static inline bool nest_is_unmapped(unsigned nest) {
    return nest % NESTS_OF_USE == UNMAPPED_NEST;
}

struct ownership { /* NOLINT(clang-analyzer-optin.performance.Padding): what all write apart from what all read */
    struct nest nests[NESTS];
    _Atomic(uint32_t) active; /* which mapped nest is filled; the reclamation thread swaps */
    struct id_stack deferred; /* ranges, through their links */
    _Atomic(size_t) deferrals, rollbacks;
    _Alignas(64) _Atomic(intptr_t) cached[2]; /* granules waiting mapped and unmapped */
};

extern struct ownership ownership;

/* A free range of at least this weight in that state, held, of roots of that use; 0 when there is none. */
granule_id range_acquire(enum root_use use, enum slot_code state, uint32_t weight);

/* Any range of one class of one nest, held; 0 when there is none. For reclamation. */
granule_id range_acquire_from(unsigned nest, unsigned class);

/* Joins the held range with its free siblings in that state and frees the result; a whole unmapped root goes back to
 * the OS. */
void range_place_known(granule_id range, uint32_t weight, enum slot_code state);

static inline void range_place(granule_id range, enum slot_code state) {
    range_place_known(range, knit_weight(range), state);
}

/* The same of a mapped range whose pages the OS does not take. A whole root goes back all the same; `joins`: the range
 * becomes one with its unmapped siblings first, as far as there are any, so that it may be a whole root. Returns the
 * granules that wait mapped. */
uint32_t range_place_kept(granule_id range, uint32_t weight, bool joins);

/* Places what was deferred. True when there was anything. */
bool range_place_deferred(void);

/* Granules that wait in that state (a moment's view). */
size_t range_cached(enum slot_code state);

#endif
