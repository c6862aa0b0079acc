/* mid_slab.h - mid slabs as the midend's own files know them: their shapes, where they wait, and how they get there.
 *
 *   mid_shapes.c          the classes, made once at the start
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
#include "config/size_classes.h"
#include "midend/mid_word.h"

enum { MOST_OBJECTS = 28 };
/* mid_nest has RANGE_CLASSES lists, and a leaf's word has room for LEAF_CLASS + 1 classes. */
enum { CLASSES = RANGE_CLASSES <= LEAF_CLASS ? RANGE_CLASSES : LEAF_CLASS + 1 };

_Static_assert((unsigned)CLASSES - 1 <= LEAF_CLASS, "a class fits in a leaf's word");
/* Let e = reciprocal * size - 2^32, which is less than the size. Then offset = i * size gives i + i * e / 2^32. For any
 * other offset, the quotient times the size is not the offset, whatever the quotient is. */
_Static_assert((uint64_t)MOST_OBJECTS *BACKEND_MIN <= UINT32_MAX, "an object's offset divided by the size is exact");
_Static_assert((MID_FREE_BITS >> MOST_OBJECTS) == 0, "each object has a bit");

#define UNIT_SHIFT JW_MIDEND_UNIT_SHIFT

struct mid_shape {
    uint32_t size, weight; /* of an object, in bytes; of a slab, in granules */
    uint32_t reciprocal;   /* ceil(2^32 / size): exact for multiples of the size in a slab; no other offset gives one */
    uint16_t count, cache_room; /* objects of a slab; objects that may be cached in a cache */
};

extern struct mid_shape mid_shapes[CLASSES] HIDDEN;
extern unsigned mid_class_count HIDDEN;
extern struct nest mid_nest HIDDEN;
extern _Atomic(size_t) mid_slab_counts[CLASSES] HIDDEN;

/* Makes the shapes and the index. Once, at the start. */
void mid_shapes_start(void);

static inline uint32_t mid_all_free(unsigned class) {
    return MID_FREE_BITS >> (MOST_OBJECTS - mid_shapes[class].count);
}

static inline unsigned mid_class_of_slab(granule_id slab) {
    return leaf_class(leaf_get(slab));
}

/* Gives the range back. The slab is out of the Nest and all its objects are free: no other thread can know it. */
void mid_slab_retire(granule_id slab, unsigned class);

/* Places a slab that is out of the Nest and listed, and gives its range back where it is empty. */
NOINLINE void mid_slab_place(granule_id slab, unsigned class);

/* Places the deferred slabs: the Nest was busy when they were to be placed. True: there were some. */
bool mid_slab_place_deferred(void);

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

/* Takes a slab with a free object out of the Nest, or makes one. 0: there is no memory. */
granule_id mid_slab_take_or_make(unsigned class);

#endif
