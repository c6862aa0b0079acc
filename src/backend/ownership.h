/* ownership.h - which thread has a range: the protocol between Nest and Knit (the paper's Figure 11, lines 17-42).
 *
 * A free range is owned half by Nest, half by Knit. Nest's half is the right to take the range out of its Nest. Knit's
 * half is the right to join it. No step takes or gives both halves at once, so each second step can fail and has its
 * rollback:
 *
 *   acquire by size    Nest, then Knit    Knit fails: back into Nest (or deferred, "not acquired"); try again, then a
 *                                         larger class
 *   acquire a sibling  Knit, then Nest    Nest fails: back into Knit; no join
 *   release            Nest, then Knit    Knit refuses (a neighbour became free): take the range out of Nest again and
 *                                         join the neighbour, else defer; a thread has it from Nest: leave it (LEFT)
 *
 * If Knit refuses the rollback of an acquired sibling, the sibling becomes LEFT, too: then two free neighbours stay
 * apart until one is next taken. Deferred ranges are in one lock-free list. Each round places them, and so does a
 * thread that finds no range.
 */
#ifndef JW_OWNERSHIP_H
#define JW_OWNERSHIP_H

#include "backend/knit.h"
#include "backend/nest.h"
#include "backend/root.h"
#include "sync/id_stack.h"

/* Each use of roots has three Nests: two buffers of mapped ranges, one active and one standby (thrift.h), and one of
 * unmapped ranges. */
enum { UNMAPPED_NEST = 2, NESTS_OF_USE = 3, ORDINARY_NESTS = ROOT_USES * NESTS_OF_USE };
enum { NESTS = (FOR_RESERVE + 1) * NESTS_OF_USE };
_Static_assert(NESTS - 1 <= LEAF_NEST, "a Nest's number fits in a leaf's word");

/* The number of a use's Nest. `part`: buffer 0 or 1, or UNMAPPED_NEST. */
static inline unsigned nest_of_use(enum root_use use, unsigned part) {
    return use * NESTS_OF_USE + part;
}

static inline bool nest_is_unmapped(unsigned nest) {
    return nest % NESTS_OF_USE == UNMAPPED_NEST;
}

struct ownership { /* NOLINT(clang-analyzer-optin.performance.Padding): written and read words in separate lines */
    struct nest nests[NESTS];
    _Atomic(uint32_t) active;                 /* the mapped nest that freed ranges go to; each round swaps the two */
    struct id_stack deferred;                 /* ranges, through their links */
    _Atomic(size_t) deferrals, rollbacks;     /* counts, which only grow */
    _Alignas(64) _Atomic(intptr_t) cached[2]; /* free granules, mapped and unmapped */
};

extern struct ownership ownership;

/* The buffer that is active now: a racy snapshot. */
static ALWAYS_INLINE unsigned ownership_active(void) {
    return NEAR_LOAD(ownership.active);
}

/* Whether freed ranges go to this Nest now. */
static inline bool nest_is_active(unsigned nest) {
    return nest % NESTS_OF_USE == ownership_active();
}

/* Swaps the roles of the two buffers. Returns the one that is the standby buffer from now on. */
unsigned ownership_swap_buffers(void);

/* For a thread that will not look again. _has_mapped: whether more than `granules` free granules are mapped.
 * _has_deferred: whether a range is deferred. */
bool ownership_last_look_has_mapped(size_t granules);
bool ownership_last_look_has_deferred(void);

/* Acquires a free range of at least this weight in that state, from roots of that use; 0 when there is none. */
granule_id range_acquire(enum root_use use, enum slot_code state, uint32_t weight);

/* Acquires any range of one class from one nest; 0 when there is none. For reclamation. */
granule_id range_acquire_from(unsigned nest, unsigned class);

/* Joins the held range with its free siblings in that state and frees the result; a whole unmapped root goes back to
 * the OS. */
void range_place_known(granule_id range, uint32_t weight, enum slot_code state);

static inline void range_place(granule_id range, enum slot_code state) {
    range_place_known(range, knit_weight(range), state);
}

/* Joins the right sibling to a range, if that sibling is free in that state. The caller holds the range, or has the
 * object in it. Returns the sibling's granules; 0: it has not joined. */
uint32_t range_join_right(granule_id range, enum slot_code state);

/* Joins a held range with its free siblings without pages, and adds their granules to *weight. The result is held. */
granule_id range_join_unmapped(granule_id range, uint32_t *weight);

/* Acquires the largest mapped range below the weight. 0: there is none. */
granule_id range_acquire_below(enum root_use use, uint32_t weight);

/* Places a mapped range whose pages the OS refuses to take. A whole root goes back all the same. `joins`: joins the
 * range first with its unmapped siblings, which may make it a whole root. Returns the granules that stay mapped. */
uint32_t range_place_refused(granule_id range, uint32_t weight, bool joins);

/* Places the deferred ranges. True when there were any. */
wide_bool range_place_deferred(void);

/* Forgets all free ranges: their roots are sealed. By a thread that is alone in the process. */
void ownership_forget_sealed(void);

/* Counts granules that become free in that state, or are free no longer. */
void free_granules_add(enum slot_code state, intptr_t granules);

/* Free granules in that state: a racy snapshot. Mapped ones: also those of cached mappings (mapping_cache.h), but not
 * those of the reserve, which count as in use. */
static ALWAYS_INLINE size_t free_granules(enum slot_code state) {
    intptr_t granules = state == UNMAPPED ? NEAR_LOAD(ownership.cached[1]) : NEAR_LOAD(ownership.cached[0]);
    return granules > 0 ? (size_t)granules : 0;
}

#endif
