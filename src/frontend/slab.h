/* slab.h - a frontend slab: one granule of equal objects behind a header, owned by one heap for as long as it is a
 * slab.
 *
 * The owner allocates from and frees to the local list; other threads push to the cross list. The owner counts down
 * `budget` on each of its frees, so that one test finds both events that need attention:
 *
 *   state       in which list of its heap    budget                       budget reaches 0
 *   CURRENT     none; in the direct map      used + 1 (pinned)            never
 *   PARTIAL     partial                      used                         the slab is empty
 *   EMPTY       empty, pool                  0; bound 0: any free is misuse
 *   FULL        none; cross list marked      1; hidden = used - 1         an own object came back: PARTIAL
 *   RETURNING   none; on its way to the      used + 1 (pinned)            never
 *               owner's "returned" stack
 *
 * used counts objects given out or waiting in the cross list. Invariant: used + length of local list + not yet carved =
 * capacity.
 *
 * The first cache line is the owner's; the second holds what other threads need to free an object.
 */
#ifndef JW_SLAB_H
#define JW_SLAB_H

#include "config/size_classes.h"
#include "frontend/cross_list.h"

enum slab_state { CURRENT, PARTIAL, EMPTY, FULL, RETURNING };

struct heap;

struct slab {
    void *local; /* first free object; an address with offset 0 ends the list */
    uint32_t budget;
    uint32_t origin;     /* low bits of the first object's address */
    uint32_t reciprocal; /* of the object size (size_classes.h) */
    uint32_t bound;      /* of what an object's address gives (size_class_bound); 0 while EMPTY */
    uint32_t hidden;
    uint16_t carved; /* objects that were put into a list so far */
    uint8_t class, state;
    struct slab *next, *previous;         /* in its class's partial or empty list */
    struct slab *all_next, *all_previous; /* in the heap's in-use list, or while EMPTY in its pool */

    _Alignas(64) cross_list cross;
    uint32_t cross_origin, cross_reciprocal, cross_bound;
    struct heap *heap;
    struct slab *returned_next;
};

_Static_assert(sizeof(struct slab) <= 128 && offsetof(struct slab, returned_next) + sizeof(void *) <= SLAB_HEADER_SIZE,
               "the header ends before the first object");

static ALWAYS_INLINE struct slab *slab_of(const void *object) {
    return (struct slab *)((uintptr_t)object & ~(uintptr_t)(GRANULE_SIZE - 1));
}

/* Whether an address is that of an object: size_class_bound says why. Also false, but for one in a million, for a
 * foreign address that shares a slab's place in the window. */
static ALWAYS_INLINE bool slab_has_object(const void *object, uint32_t origin, uint32_t reciprocal, uint32_t bound) {
    return ((uint32_t)(uintptr_t)object - origin) * reciprocal < bound;
}

/* Whether the address ends a list of free objects. */
static ALWAYS_INLINE bool slab_list_end(const void *object) {
    return ((uintptr_t)object & (GRANULE_SIZE - 1)) == 0;
}

/* Objects given out or waiting in the cross list. */
static inline unsigned slab_used(const struct slab *slab) {
    switch ((enum slab_state)slab->state) {
    case PARTIAL: return slab->budget;
    case FULL: return slab->budget + slab->hidden;
    case EMPTY: return 0;
    default: return slab->budget - 1;
    }
}

/* Takes the first object of the local list, which is not empty. */
static ALWAYS_INLINE void *slab_pop(struct slab *slab) {
    void *object = slab->local;
    slab->local = *(void **)object;
    slab->budget++;
    return object;
}

/* Makes a fresh slab of a granule whose header may hold anything. Its state is left to the caller. */
void slab_format(struct slab *slab, struct heap *heap, unsigned class);

/* Refills the empty local list from the cross list, or from objects never given out. False when all are in use. */
bool slab_refill(struct slab *slab);

/* Moves everything from the cross list to the local list, which may not be empty. Walks the cross list. */
void slab_collect(struct slab *slab);

#endif
