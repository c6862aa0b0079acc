/* heap_slabs.h - the states of a heap's slabs, and the transitions that the heap's thread makes.
 *
 *   state       event                                             then
 *   EMPTY       a refill takes the slab from the pool             CURRENT
 *   CURRENT     the lists have no object left                     FULL, marked; WANTED after a failed malloc
 *   CURRENT     all objects are free                              EMPTY, or REOPENING (below)
 *   FULL        objects have come back                            PARTIAL; EMPTY if all have; CURRENT where malloc
 *                                                                 would find nothing next
 *   FULL        a malloc has failed (heap_shortage.h)             WANTED; else as FULL
 *   PARTIAL     a refill takes the first of its class             CURRENT
 *   PARTIAL     all objects are free                              EMPTY, or REOPENING
 *   REOPENING   the thread that cleared the mark has pushed it    PARTIAL or EMPTY (heap_reopened.h)
 *
 * A slab becomes REOPENING instead of EMPTY while another thread is about to push it to the heap's `reopened` stack.
 * slab.h has the budgets. All of it is done by the heap's thread, or by a thread that has a heap without a thread.
 */
#ifndef JW_HEAP_SLABS_H
#define JW_HEAP_SLABS_H

#include "frontend/heap.h"
#include "frontend/slab_cross.h"

/* Handles a budget that its owner's free has counted down to 0 (the state table in slab.h). */
void heap_budget_spent(struct heap *heap, struct slab *slab);

/* Does as heap_budget_spent, for a slab of any heap; a FULL slab never becomes CURRENT here. */
void heap_open_slab(struct heap *heap, struct slab *slab);

/* Makes a FULL slab WANTED, unless a round has taken it. Its owner has freed no object to it. */
void heap_want_slab(struct slab *slab);

/* Puts an empty slab, which is in no list of its class, into the pool. If a remote thread is about to push the slab, it
 * becomes REOPENING instead. */
void heap_make_empty(struct heap *heap, struct slab *slab);

/* Makes the slab PARTIAL. `out`: its objects that are out. If all of them have come back, makes it EMPTY. */
void heap_make_partial(struct heap *heap, struct slab *slab, uint32_t out);

/* Makes a PARTIAL slab EMPTY if all its objects have come back, some through the cross list. Counts alone tell that. */
void heap_collect_if_empty(struct heap *heap, struct slab *slab);

/* Inline, as the next two: each refill does them. As calls they cost 0.2 instructions of a malloc's mean and 0.4 of a
 * free's (./jw asm). Makes the slab the current one of its class. After its budget was pinned: where a signal handler
 * forks, the child collects current slabs. */
static inline void heap_make_current(struct heap *heap, unsigned class, struct slab *slab) {
    slab->target = QUARANTINED ? &slab->freed : &heap->local[class];
    heap->current[class] = slab;
}

/* Makes a current slab FULL or WANTED. False: other threads have freed objects of the slab meanwhile. */
static inline bool heap_make_full(const struct heap *heap, unsigned class, struct slab *slab) {
    if (cross_count(&slab->cross) > 0 || (!slab->marked && !slab_mark(slab))) return false;
    unsigned frees = size_classes[class].frees_until_reopen;
    bool wanted = heap->wants_slabs && frees > 1;
    free_target_set_budget(&slab->freed, wanted ? 1 : frees);
    slab_set_state(slab, wanted ? WANTED : FULL);
    if (size_classes[class].cache_room == 0) slab->target = &slab->freed;
    return true;
}

/* Leaves the class without a current slab. Clears the local list, which may end with the slab's origin. */
static inline void heap_leave_current(struct heap *heap, unsigned class) {
    heap->current[class] = NULL;
    heap->local[class].first = LINK_END;
}

#endif
