/* slab_free.h - what free does with a slab's record: is an object in use there, count its free, and link it.
 *
 *   start    (object - origin - 1) * reciprocal is at most `last` where an object begins (config/size_classes.h)
 *   link     where the first word may be a link, the distance is 1 more: the same comparison sees a double free
 *   budget   is counted down in the same step: one branch finds all that needs attention
 *
 * Example: 85 objects of 48 B, 64 bits. 48 * reciprocal is 2^64 + 32, so `last` is 84 * 32 = 2,688. The third object
 * has the distance 96, which gives 2 * 32 = 64: an object. If its first word may be a link, the distance counts as 97.
 * That gives 64 + reciprocal, far above `last`.
 */
#ifndef JW_SLAB_FREE_H
#define JW_SLAB_FREE_H

#include "base/mitigations.h"
#include "frontend/slab.h"
#include "platform/fill.h"
#include "platform/instructions.h"

/* An object's distance from the first one, and 1 more where its first word may be a link. The origin is 1 less than the
 * first object's address. `shared`: the slab may be another thread's. */
static ALWAYS_INLINE uintptr_t slab_distance(const void *object, const struct slab *slab, bool shared) {
    return difference_less_borrow((uintptr_t)object, &slab->origin, shared, link_upper_half(object), LINK_MARK);
}

/* Whether an object that is in use begins there. A first word that may be a link makes the distance wrong by one: so a
 * double free is seen without a branch. False as well if a program has written a word that looks like a link. */
static ALWAYS_INLINE bool slab_has_object(const void *object, const struct slab *slab) {
    return product_is_at_most(slab_distance(object, slab, true), &slab->reciprocal, &slab->last);
}

/* Counts a free by the owner. True: the budget is spent, or no object in use begins there. So free has one branch for
 * both. */
static ALWAYS_INLINE bool slab_count_free(const struct slab *slab, struct free_target *target, const void *object) {
    return count_down(&target->budget, slab_distance(object, slab, false) * slab->reciprocal, &slab->last);
}

/* After slab_count_free has returned true: whether no object in use begins there. If the budget is not spent, that is
 * the only possible reason. */
static ALWAYS_INLINE bool slab_free_was_invalid(const struct slab *slab, const struct free_target *target,
                                                const void *object) {
    return target->budget != 0 || !slab_has_object(object, slab);
}

static ALWAYS_INLINE void free_target_push(struct free_target *target, void *object, uint64_t key) {
#if !JW_CHECKED && !STRICT_LINKS
    /* now: then the link is made in the key's register */
    link_write_masked(object, target->first, computed_now(key ^ link_base(object)));
#else
    link_write(object, target->first, key);
#endif
    target->first = object;
}

static ALWAYS_INLINE void slab_fill(const struct slab *slab, void *object) {
    if (JW_FILL) fill_write(object, sizeof(link_word), size_classes[slab->class].size);
}

#endif
