/* slab_free.h - what free does with a slab's record: is an object in use there, count its free, and link it.
 *
 *   start    (object - origin - 1) * reciprocal is at most `last` where an object begins (config/size_classes.h)
 *   link     where the first word may be a link, the distance is 1 more: the same comparison sees a double free
 *   budget   is counted down in the same step: one branch finds all that needs attention
 */
#ifndef JW_SLAB_FREE_H
#define JW_SLAB_FREE_H

#include "base/fill.h"
#include "frontend/slab.h"
#include "platform/instructions.h"

/* An object's distance from the first one, and 1 more where its first word may be a link: the origin is 1 less than the
 * first object's address. */
static ALWAYS_INLINE uintptr_t slab_distance(const void *object, const struct slab *slab) {
    return difference_less_borrow((uintptr_t)object, &slab->origin, link_upper_half(object), LINK_MARK);
}

/* The same of an object in use: what may be a link puts the address off by one, so that no branch is needed to see a
 * double free. False as well where a program has written what looks like a link. */
static ALWAYS_INLINE bool slab_has_object(const void *object, const struct slab *slab) {
    return slab_distance(object, slab) * slab->reciprocal <= slab->last;
}

/* Counts an own free. True: it needs attention, as the budget is spent or no object in use begins there; so that free
 * has one branch for both. */
static ALWAYS_INLINE bool slab_count_free(const struct slab *slab, struct free_target *target, const void *object) {
    return count_down(&target->budget, slab_distance(object, slab) * slab->reciprocal, &slab->last);
}

static ALWAYS_INLINE void free_target_push(struct free_target *target, void *object, uint64_t key) {
#if !JW_CHECKED && !JW_SECURE
    /* now: then the link is made in the key's register */
    *(link_word *)object = computed_now(key ^ link_place(object)) ^ (uintptr_t)target->first;
#else
    link_write(object, target->first, key);
#endif
    target->first = object;
}

static ALWAYS_INLINE void slab_fill(const struct slab *slab, void *object) {
    if (JW_FILL) fill_write(object, sizeof(link_word), size_classes[slab->class].size);
}

#endif
