/* hold.h - what a thread keeps of the midend, so that most calls change nothing that is shared: of some classes a slab
 * that it allocates from, and a few loose objects.
 *
 * A loose object was freed by the thread and waits in its list for the next allocation, while its bit in the slab's
 * word says "in use": so it is nobody else's, whosever slab it is in, and no atomic operation is needed. Its first word
 * is a link as in the frontend (link.h), by which all threads see a double free; but with another key, so that what a
 * small object's link has left in the memory is none here. What leaves the list has 0 there.
 *
 *   room       how many objects more may become loose; as long as there is some, each freed object of the class does.
 *              Made by allocating from the class twice in a row: classes that share a hold would drive them out
 *   patience   how many frees may find no room until the class is allocated from again; then all loose objects go back,
 *              and there is no room. So a thread that only frees keeps none
 *
 * The hardened build has no loose objects.
 */
#ifndef JW_HOLD_H
#define JW_HOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/map.h"
#include "base/fill.h"
#include "midend/link.h"
#include "secure/secret.h"

#define MID_FREE_BITS 0x0fffffffu
enum { MID_HOLDS = 4 }; /* class modulo this: up to 4 KB, where most requests are, each class has its own */

enum { MID_PATIENCE = 8 };   /* who allocates and frees in random order seldom frees so often in a row */
#define MID_IDLE 0x80000000u /* with it: nothing was allocated since the heap was last tidied */

/* Of the class last allocated from, with what the hit paths need of it. */
struct mid_hold {
    char *start;                      /* of the slab */
    record_word *word;                /* the slab's; a word without bits where there is none */
    uint32_t held;                    /* bytes of the slab's objects, 0: there is no slab */
    uint32_t kind;                    /* class + 1, 0: none yet */
    uint32_t bytes, size, reciprocal; /* of the class: of a slab's objects, of one, and to divide by that */
    uint32_t room, most, patience;    /* most: the room where nothing is loose */
    void *loose;                      /* the first loose object, NULL: none */
    uint64_t key;                     /* of the links; here to be at hand */
};

/* What the key of loose objects' links differs in: no two addresses of ours differ in these bits. */
#define LOOSE_KEY ((uint64_t)0x5a5a << 32)

static ALWAYS_INLINE void *loose_next(const struct mid_hold *hold, const void *object) {
    return (void *)(uintptr_t)(*(const link_word *)object ^ hold->key);
}

/* Whether the first word of an object that is not free by its slab's word may be a link. */
static ALWAYS_INLINE bool mid_may_be_loose(const void *object) {
    return !JW_SECURE && *link_upper_half(object) >= LINK_MARK;
}

/* The same for certain: a link leads to an object of the class, or ends. */
bool mid_is_loose(const void *object, unsigned class);

/* The bit of the object that is given out: the first free one, or in the hardened build any. */
static ALWAYS_INLINE uint32_t mid_choose(uint32_t word) {
    if (JW_SECURE) word &= MID_FREE_BITS;
    uint32_t passed = JW_SECURE ? random_less((uint32_t)__builtin_popcount(word)) : 0;
    for (; passed > 0; passed--) word &= word - 1;
    return word & -word;
}

/* Checked builds: whether a loose object is as it was left. */
static ALWAYS_INLINE void loose_check(const struct mid_hold *hold, const void *object) {
    if (JW_FILL && !mid_is_loose(object, hold->kind - 1)) misuse(WRITE_AFTER_FREE, object, 0);
    fill_check(object, sizeof(link_word), hold->size);
}

static ALWAYS_INLINE void loose_push(struct mid_hold *hold, void *object) {
    fill_write(object, sizeof(link_word), hold->size);
    *(link_word *)object = (uintptr_t)hold->loose ^ hold->key;
    hold->loose = object;
    hold->room--;
}

static ALWAYS_INLINE void *loose_pop(struct mid_hold *hold) {
    void *object = hold->loose;
    loose_check(hold, object);
    hold->loose = loose_next(hold, object);
    hold->room++;
    link_clear(object);
    return object;
}

/* A loose object, or one of the held slab. NULL: none is free, or the hold is of another class, or of none. */
static ALWAYS_INLINE void *mid_hold_pop(struct mid_hold *hold, unsigned class) {
    if (UNLIKELY(hold->kind != class + 1)) return NULL;
    hold->patience = MID_PATIENCE;
    if (!JW_SECURE && hold->loose) return loose_pop(hold);
    uint32_t bits = atomic_load_explicit(hold->word, memory_order_relaxed) & MID_FREE_BITS;
    if (UNLIKELY(bits == 0)) return NULL;
    hold->room = hold->most;
    uint32_t bit = mid_choose(bits); /* it is set: only the holder clears any */
    /* [MH1] acquire: the object's last user is done with it; pairs [MW3]; client midend_hold_free */
    atomic_fetch_xor_explicit(hold->word, bit, memory_order_acquire);
    char *object = hold->start + (size_t)__builtin_ctz(bit) * hold->size;
    fill_check(object, 0, hold->size);
    return object;
}

/* The hit path of free, for the address of anything whose leaf word is `leaf`. False, with nothing done, unless it is
 * that of an object in use, for which there is room or whose slab is held. */
static ALWAYS_INLINE bool mid_free_held(struct mid_hold *holds, void *object, uint32_t leaf) {
    struct mid_hold *hold = &holds[(leaf >> LEAF_HIGH_SHIFT) % MID_HOLDS];
    record_word *word = hold->word;
    uintptr_t distance = (uintptr_t)object - (uintptr_t)hold->start;
    if (distance >= hold->held) {
        if (JW_SECURE || UNLIKELY(hold->room == 0)) return false;
        granule_id slab = granule_of(object) - (leaf_kind(leaf) == INTERIOR ? leaf & ID_MASK : 0);
        if (leaf_get(slab) >> LEAF_HIGH_SHIFT != (leaf_word(MID, 0) >> LEAF_HIGH_SHIFT) + hold->kind - 1) return false;
        word = &map.link[slab + 1];
        distance = (uintptr_t)object - (uintptr_t)granule_address(slab);
        if (UNLIKELY(distance >= hold->bytes)) return false; /* a tail's, or foreign */
    }
    uint32_t offset = (uint32_t)distance, index = (uint32_t)((uint64_t)offset * hold->reciprocal >> 32);
    if (UNLIKELY(index * hold->size != offset || mid_may_be_loose(object))) return false;
    if (!JW_SECURE && LIKELY(hold->room > 0)) {
        if (UNLIKELY(atomic_load_explicit(word, memory_order_relaxed) >> index & 1)) return false;
        loose_push(hold, object);
        return true;
    }
    uint32_t bit = 1u << index;
    if (JW_FILL && !(atomic_load_explicit(word, memory_order_relaxed) & bit)) fill_write(object, 0, hold->size);
    /* relaxed: the next user is the holder itself, or comes after the holder has let go */
    return LIKELY(!(atomic_fetch_or_explicit(word, bit, memory_order_relaxed) & bit));
}

#endif
