/* mid_slab.h - mid slabs as the midend's own files know them: where they wait, and how they get there.
 *
 *   mid_shapes.h          the classes, made once at the start
 *   mid_slab.c            a slab is made, placed, taken and retired
 *   mid_cache.c           what a thread keeps
 *   mid_hold.h            which slab a thread holds, for rounds
 *   midend.c              allocation and free
 *   midend_round.c        a round of reclamation
 *   midend_statistics.c   numbers, and the description of an address
 */
#ifndef JW_MID_SLAB_H
#define JW_MID_SLAB_H

#include "backend/backend.h"
#include "backend/nest.h"
#include "midend/mid_shapes.h"
#include "midend/mid_word.h"

extern struct nest mid_nest HIDDEN;
extern _Atomic(size_t) mid_slab_counts[CLASSES] HIDDEN;

static inline unsigned mid_class_of_slab(granule_id slab) {
    return leaf_class(leaf_get(slab));
}

/* Gives the range back. The slab is out of the Nest and all its objects are free: no other thread can know it. */
void mid_slab_retire(granule_id slab, unsigned class);

/* Places a slab that is out of the Nest and listed, and gives its range back where it is empty. */
NOINLINE void mid_slab_place(granule_id slab, unsigned class);

/* Places the deferred slabs: the Nest was busy when they were to be placed. True: there were some. */
wide_bool mid_slab_place_deferred(void);

/* Gives back the range of a listed slab if it is empty and the Nest has enough others of its class. Another thread may
 * have the slab. */
void mid_slab_retire_if_empty(granule_id slab, unsigned class);

/* Grows when an empty slab is left in the Nest until the next round. */
uint32_t mid_slab_empties_left(void);

/* The object with that number. */
static inline char *mid_object(granule_id slab, unsigned class, uint32_t index) {
    return granule_address(slab) + (size_t)index * mid_shapes[class].size;
}

/* Frees objects of a slab, or says that one is free already and aborts. Returns the slab's word after that. */
struct mid_word mid_slab_free(granule_id slab, unsigned class, uint32_t bits);

/* Forgets all slabs: their roots are sealed. By a thread that is alone in the process. */
void mid_slab_forget_sealed(void);

/* Takes a slab with a free object out of the Nest, or makes one. 0: there is no memory. */
granule_id mid_slab_take_or_make(unsigned class);

#endif
